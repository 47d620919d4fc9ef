import type { Read, Reader } from "./values.ts";

/** What the machine says of itself before anything is configured. */
export interface Host {
  readonly name: string;
  /** True if a person reads standard error. */
  readonly terminal: boolean;
}

/** One flag, which is also an environment variable. */
export interface Flag<T> {
  /** Without its dashes. */
  readonly name: string;
  /** One letter. */
  readonly short?: string;
  /** Heading of the help that it stands under. */
  readonly group: string;
  /** What stands for the value in the help. */
  readonly placeholder: string;
  readonly about: string;
  readonly read: Reader<T>;
  /** What is read if nothing is given. */
  readonly default: string | Derived;
}

/** A default that depends on the host. */
export interface Derived {
  /** For the help. */
  readonly shown: string;
  of(host: Host): string;
}

/** Every flag of a program, by the name that the program itself has for it. */
export type FlagTable = Readonly<Record<string, Flag<unknown>>>;

/** What flags say, by key. */
export type ValuesOf<Table extends FlagTable> = {
  readonly [Key in keyof Table]: ValueOf<Table[Key]["read"]>;
};

type ValueOf<R> = R extends (text: string) => Read<infer T> ? T : never;
