import type { Cidr } from "../../api/cidr.ts";
import type { Environment } from "../../common/config/arguments.ts";
import { readCommandLine } from "../../common/config/command-line.ts";
import type { Host } from "../../common/config/flag.ts";
import { isUsage, type Usage, usage } from "../../common/config/usage.ts";
import type { ListenAddress } from "../../common/config/values.ts";
import type { LogFormat, LogLevel } from "../../common/log.ts";
import { contradictions, doubts } from "./checks.ts";
import type { RegistryKind } from "./flags.ts";
import { CONTROLLER, type Command } from "./program.ts";

/** Everything that an operator decided, frozen. controller/config/flags.ts says what each field means. */
export interface ControllerConfig {
  readonly command: Command;
  /** Absent: the API server of the pod's own cluster. */
  readonly kubeconfig: string | undefined;
  readonly namespace: string;
  readonly registry: RegistryKind;
  /** There if, and only if, `registry` is `hub`. */
  readonly hubKubeconfig: string | undefined;
  readonly cluster: string | undefined;
  readonly clusterSet: string | undefined;
  readonly region: string | undefined;
  /** One range per family; at least one. */
  readonly clusterSetCidrs: readonly Cidr[];
  readonly podCidrs: readonly Cidr[];
  readonly serviceCidrs: readonly Cidr[];
  readonly leaderElectionId: string;
  readonly leaseSeconds: number;
  /** Absent if the pages are served nowhere. */
  readonly http: ListenAddress | undefined;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  /** Sentences for the log: allowed, but perhaps not meant. */
  readonly warnings: readonly string[];
}

/**
 * The configuration that a command line and an environment stand for, or everything that is wrong with them.
 * `argv` is without the program's own name. Asking for help or for the version always succeeds. PURE.
 */
export function parseConfig(
  argv: readonly string[],
  env: Environment,
  host: Host,
): ControllerConfig | Usage {
  const given = readCommandLine(CONTROLLER, argv, env, host);
  if (isUsage(given)) return given;
  const { command, values } = given;
  const contradicted = contradictions(command, values, env);
  if (contradicted.length > 0) return usage(...contradicted);
  const warnings = [...given.warnings, ...doubts(command, values)];
  return Object.freeze({ command, ...values, warnings });
}
