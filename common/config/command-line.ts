import { type Environment, sortArguments } from "./arguments.ts";
import type { FlagTable, Host, ValuesOf } from "./flag.ts";
import { type AboutItself, flagList, type Program } from "./program.ts";
import { type Usage, type UsageFault, usage } from "./usage.ts";

/** A parsed command line and environment. */
export interface CommandLine<Command extends string, Table extends FlagTable> {
  readonly command: Command | AboutItself;
  readonly values: ValuesOf<Table>;
  /** Log messages about valid but suspicious input. */
  readonly warnings: readonly string[];
}

/** Parses a command line and an environment; returns all faults at once. Help and version always succeed. PURE. */
export function readCommandLine<Command extends string, Table extends FlagTable>(
  program: Program<Command, Table>,
  argv: readonly string[],
  env: Environment,
  host: Host,
): CommandLine<Command, Table> | Usage {
  const asked = sortArguments(program, argv, env, host);
  // A fault must not prevent the help that explains it.
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
    // Any other word is a fault.
    command: given.command as Command | AboutItself,
    // Without a fault, every flag has a value of its type.
    values: values as ValuesOf<Table>,
    warnings: given.warnings,
  };
}

function isAboutItself(command: string): command is AboutItself {
  return command === "help" || command === "version";
}
