import type { Flag, FlagTable } from "./flag.ts";

/** A program as whoever calls it sees it: parsing, environment, defaults and help are made from this. */
export interface Program<Command extends string, Table extends FlagTable> {
  /** What it is called by. */
  readonly name: string;
  /** What it is for, in lines as the help prints them. */
  readonly about: readonly string[];
  /** What it can be told to do, with what that means. The first is meant if none is named. */
  readonly commands: Readonly<Record<Command | AboutItself, string>>;
  readonly flags: Table;
  /** Command lines to begin with, without the program's name. */
  readonly examples: readonly string[];
}

/** What every program can be told to do: to speak of itself. */
export type AboutItself = "version" | "help";

/** Any program. */
export type AnyProgram = Program<string, FlagTable>;

/** A program's flags in the order of its table, with their keys. */
export function flagList(
  program: AnyProgram,
): readonly (Flag<unknown> & { readonly key: string })[] {
  return Object.entries(program.flags).map(([key, flag]) => ({ key, ...flag }));
}

/** What every environment variable of a program starts with. */
export function variablePrefix({ name }: Pick<AnyProgram, "name">): string {
  return `${name.replaceAll("-", "_").toUpperCase()}_`;
}

/** The environment variable that stands in for a flag. */
export function variableOf(
  program: Pick<AnyProgram, "name">,
  flag: Pick<Flag<unknown>, "name">,
): string {
  return `${variablePrefix(program)}${flag.name.replaceAll("-", "_").toUpperCase()}`;
}
