import type { Flag, FlagTable } from "./flag.ts";

/** The command line of a program; parsing, environment variables, defaults and help use it. */
export interface Program<Command extends string, Table extends FlagTable> {
  readonly name: string;
  /** Its purpose, in lines of the help. */
  readonly about: readonly string[];
  /** Descriptions by command; the first command is the default. */
  readonly commands: Readonly<Record<Command | AboutItself, string>>;
  readonly flags: Table;
  /** Command lines without the program's name. */
  readonly examples: readonly string[];
}

/** Commands of every program. */
export type AboutItself = "version" | "help";

/** Any program. */
export type AnyProgram = Program<string, FlagTable>;

/** The flags of a program with their keys, in the order of the table. */
export function flagList(
  program: AnyProgram,
): readonly (Flag<unknown> & { readonly key: string })[] {
  return Object.entries(program.flags).map(([key, flag]) => ({ key, ...flag }));
}

/** Prefix of a program's environment variables. */
export function variablePrefix({ name }: Pick<AnyProgram, "name">): string {
  return `${name.replaceAll("-", "_").toUpperCase()}_`;
}

/** The environment variable of a flag. */
export function variableOf(
  program: Pick<AnyProgram, "name">,
  flag: Pick<Flag<unknown>, "name">,
): string {
  return `${variablePrefix(program)}${flag.name.replaceAll("-", "_").toUpperCase()}`;
}
