import type { Reader } from "./values.ts";

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
