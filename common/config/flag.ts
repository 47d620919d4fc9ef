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

/** All flags of a program, by key. */
export type FlagTable = Readonly<Record<string, Flag<unknown>>>;

/** Values of flags, by key. */
export type ValuesOf<Table extends FlagTable> = {
  readonly [Key in keyof Table]: Table[Key]["read"] extends Reader<infer T> ? T : never;
};
