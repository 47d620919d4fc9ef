import { LOG_FORMATS, LOG_LEVELS } from "../log.ts";
import { oneOf, type Reader } from "./values.ts";

/** The machine, for defaults of flags. */
export interface Host {
  readonly name: string;
  /** True if standard error is a terminal. */
  readonly terminal: boolean;
}

/** A flag, which can also be set by an environment variable. */
export interface Flag<T> {
  /** Without dashes. */
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  /** Its heading in the help. */
  readonly group: string;
  /** The value's placeholder in the help. */
  readonly placeholder: string;
  readonly about: string;
  readonly read: Reader<T>;
  readonly default: string | Derived;
}

/** A default that depends on the host. */
export interface Derived {
  readonly shown: string;
  of(host: Host): string;
}

/** A flag before it has a group. */
type Ungrouped<T> = Omit<Flag<T>, "group">;

/** Calls of flags: `--region REGION` or `-o, --output FORMAT`. */
const CALL = /^(?:-(\w), )?--(\S+) (.+)$/;

/** A flag that is called so; it is empty by default. */
export function flag<T>(
  call: string,
  {
    default: preset = "",
    ...rest
  }: Pick<Flag<T>, "about" | "read"> & Partial<Pick<Flag<T>, "default">>,
): Ungrouped<T> {
  const [, short, name = "", placeholder = ""] = CALL.exec(call) ?? [];
  return { name, ...(short !== undefined && { short }), placeholder, ...rest, default: preset };
}

/** Flags with one heading in the help. */
export function inGroup<Table extends Readonly<Record<string, Ungrouped<unknown>>>>(
  group: string,
  table: Table,
): { readonly [Key in keyof Table]: Table[Key] & { readonly group: string } } {
  const entries = Object.entries(table).map(([key, one]) => [key, { ...one, group }]);
  return Object.fromEntries(entries);
}

/** All flags of a program, by key. */
export type FlagTable = Readonly<Record<string, Flag<unknown>>>;

/** Values of flags, by key. */
export type ValuesOf<Table extends FlagTable> = {
  readonly [Key in keyof Table]: Table[Key]["read"] extends Reader<infer T> ? T : never;
};

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

/** Help group of observability flags. */
export const SHOWN = "Observability";

/** Log flags, common to all programs. */
export const LOG_FLAGS = {
  ...inGroup(SHOWN, {
    logLevel: flag("--log-level LEVEL", {
      about: `Minimum log level: ${LOG_LEVELS.join(", ")}`,
      read: oneOf(LOG_LEVELS),
      default: "info",
    }),
    logFormat: flag("--log-format FORMAT", {
      about: "Log format on standard error: json or pretty",
      read: oneOf(LOG_FORMATS),
      default: {
        shown: "pretty on a terminal, else json",
        of: (host) => (host.terminal ? "pretty" : "json"),
      },
    }),
  }),
} as const satisfies FlagTable;
