import { type Environment, sortArguments } from "./arguments.ts";
import type { FlagTable, Host, ValuesOf } from "./flag.ts";
import { type AboutItself, flagList, type Program } from "./program.ts";
import { type Usage, type UsageFault, usage } from "./usage.ts";

/** What a command line and an environment say, each flag by itself. */
export interface CommandLine<Command extends string, Table extends FlagTable> {
  readonly command: Command | AboutItself;
  readonly values: ValuesOf<Table>;
  /** Sentences for the log: allowed, but perhaps not meant. */
  readonly warnings: readonly string[];
}

/**
 * Reads a command line, without the program's own name, and an environment; or tells everything that is wrong with
 * them. Asking for help or for the version always succeeds. PURE.
 */
export function readCommandLine<Command extends string, Table extends FlagTable>(
  program: Program<Command, Table>,
  argv: readonly string[],
  env: Environment,
  host: Host,
): CommandLine<Command, Table> | Usage {
  const asked = sortArguments(program, argv, env, host);
  // A wrong flag must not stand between a person and the page that explains it.
  const given = isAboutItself(asked.command)
    ? sortArguments(program, [asked.command], {}, { ...host, name: "localhost" })
    : asked;
  const faults: UsageFault[] = [...given.faults];
  const values: Record<string, unknown> = {};
  for (const { key, read } of flagList(program)) {
    const { text = "", where = "" } = given.texts.get(key) ?? {};
    const result = read(text);
    if ("expected" in result) faults.push({ where, value: text, expected: result.expected });
    else values[key] = result.value;
  }
  if (faults.length > 0) return usage(...faults);
  return {
    // A word that is none of the program's commands is a fault.
    command: given.command as Command | AboutItself,
    // Every key was read by its own reader, or there would be a fault.
    values: values as ValuesOf<Table>,
    warnings: given.warnings,
  };
}

function isAboutItself(command: string): command is AboutItself {
  return command === "help" || command === "version";
}
