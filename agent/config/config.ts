import type { Environment } from "../../common/config/arguments.ts";
import { readCommandLine } from "../../common/config/command-line.ts";
import type { Host } from "../../common/config/flag.ts";
import { isUsage, type Usage, usage } from "../../common/config/usage.ts";
import { conflicts, suspiciousValues } from "./flag-conflicts.ts";
import type { FlagValues } from "./flags.ts";
import { type ObjectsFrom, objectsFrom } from "./objects-from.ts";
import { AGENT, type Command } from "./program.ts";

/** The configuration, frozen: the values of all flags, which `flags.ts` explains. */
export interface AgentConfig extends FlagValues {
  readonly command: Command;
  /** The source of objects; absent only for commands that read none. */
  readonly objects: ObjectsFrom | undefined;
  /** Log messages about valid but suspicious values. */
  readonly warnings: readonly string[];
}

/** Parses the command line (without the program's name) and the environment. Help and version always succeed. PURE. */
export function parseConfig(
  argv: readonly string[],
  env: Environment,
  host: Host,
): AgentConfig | Usage {
  const given = readCommandLine(AGENT, argv, env, host);
  if (isUsage(given)) return given;
  const { command, values } = given;
  const objects = objectsFrom(values, env);
  const found = conflicts(command, values, objects);
  if (found.length > 0) return usage(...found);
  const warnings = [...given.warnings, ...suspiciousValues(command, values, objects)];
  return Object.freeze({ command, ...values, objects, warnings });
}
