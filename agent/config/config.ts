import type { Cidr } from "../../api/cidr.ts";
import type { LogFormat, LogLevel } from "../../common/log.ts";
import type { BackendName, Masquerade } from "../backends/backend.ts";
import { type Command, type Environment, sortArguments } from "./arguments.ts";
import { contradictions, doubts } from "./checks.ts";
import {
  FLAGS,
  type FlagKey,
  type FlagValues,
  flagList,
  type Host,
  type IptablesFlavour,
  type Output,
} from "./flags.ts";
import { type ObjectsFrom, objectsFrom } from "./objects-from.ts";
import { type Usage, type UsageFault, usage } from "./usage.ts";
import type { ListenAddress } from "./values.ts";

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
  readonly backend: BackendName;
  readonly iptablesFlavour: IptablesFlavour;
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
  const asked = sortArguments(argv, env, host);
  // A wrong flag must not stand between a person and the page that explains it.
  const given = isAboutItself(asked.command)
    ? sortArguments([asked.command], {}, { ...host, name: "localhost" })
    : asked;
  const faults: UsageFault[] = [...given.faults];
  const values: Partial<Record<FlagKey, unknown>> = {};
  for (const { key } of flagList()) {
    const { text = "", where = "" } = given.texts.get(key) ?? {};
    const read = FLAGS[key].read(text);
    if ("expected" in read) faults.push({ where, value: text, expected: read.expected });
    else values[key] = read.value;
  }
  if (faults.length > 0) return usage(...faults);
  // Every key was read by its own reader, or there would be a fault.
  const complete = values as FlagValues;
  const objects = objectsFrom(complete, env);
  const contradicted = contradictions(given.command, complete, objects);
  if (contradicted.length > 0) return usage(...contradicted);
  const warnings = [...given.warnings, ...doubts(given.command, complete, objects)];
  return Object.freeze({ command: given.command, ...complete, objects, warnings });
}

function isAboutItself(command: Command): boolean {
  return command === "help" || command === "version";
}
