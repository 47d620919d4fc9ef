import type { Environment } from "../../common/config/arguments.ts";
import { readCommandLine } from "../../common/config/command-line.ts";
import type { Host } from "../../common/config/flag.ts";
import { isUsage, type Usage, usage } from "../../common/config/usage.ts";
import { contradictions, doubts } from "./checks.ts";
import type { FlagValues } from "./flags.ts";
import { CONTROLLER, type Command } from "./program.ts";

/** The configuration, frozen: the values of all flags, which `flags.ts` explains. */
export interface ControllerConfig extends FlagValues {
  readonly command: Command;
  /** Warnings for the log. */
  readonly warnings: readonly string[];
}

/** Parses the command line (without the program's name) and the environment. Help and version always succeed. PURE. */
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
