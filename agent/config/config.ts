import type { Cidr } from "../../api/cidr.ts";
import type { Scheduler } from "../../api/scheduler.ts";
import type { Environment } from "../../common/config/arguments.ts";
import { readCommandLine } from "../../common/config/command-line.ts";
import type { Host } from "../../common/config/flag.ts";
import { isUsage, type Usage, usage } from "../../common/config/usage.ts";
import type { ListenAddress } from "../../common/config/values.ts";
import type { LogFormat, LogLevel } from "../../common/log.ts";
import type { BackendName, Masquerade } from "../backends/backend.ts";
import { contradictions, doubts } from "./checks.ts";
import type { IptablesFlavour, Output } from "./flags.ts";
import { type ObjectsFrom, objectsFrom } from "./objects-from.ts";
import { AGENT, type Command } from "./program.ts";

/** Everything that an operator decided, frozen. agent/config/flags.ts says what each field means. */
export interface AgentConfig {
  readonly command: Command;
  readonly manifests: string | undefined;
  readonly kubeconfig: string | undefined;
  /** Where objects come from; absent only for commands that read none. */
  readonly objects: ObjectsFrom | undefined;
  readonly nodeName: string;
  readonly cluster: string | undefined;
  readonly region: string | undefined;
  readonly zone: string | undefined;
  readonly clusterRegions: ReadonlyMap<string, string>;
  /** One range per family; at least one. */
  readonly clusterSetCidrs: readonly Cidr[];
  readonly explicitVipCidrs: readonly Cidr[];
  readonly podCidrs: readonly Cidr[];
  readonly serviceCidrs: readonly Cidr[];
  readonly backend: BackendName | "auto";
  readonly iptablesFlavour: IptablesFlavour;
  readonly ipvsScheduler: Scheduler;
  /** Seconds; absent leaves the kernel's. */
  readonly ipvsTcpTimeout: number | undefined;
  readonly kubeProxyExcludeCidrs: readonly Cidr[];
  readonly masquerade: Masquerade;
  readonly lockFile: string;
  /** Absent if the pages are served nowhere. */
  readonly http: ListenAddress | undefined;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly output: Output;
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
): AgentConfig | Usage {
  const given = readCommandLine(AGENT, argv, env, host);
  if (isUsage(given)) return given;
  const { command, values } = given;
  const objects = objectsFrom(values, env);
  const contradicted = contradictions(command, values, objects);
  if (contradicted.length > 0) return usage(...contradicted);
  const warnings = [...given.warnings, ...doubts(command, values, objects)];
  return Object.freeze({ command, ...values, objects, warnings });
}
