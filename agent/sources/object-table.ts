import { isDeepStrictEqual } from "node:util";
import type { Parsed } from "../../api/parse/complaints.ts";
import type { Problem } from "../../api/problem.ts";
import type { Stored, StoreQuota } from "../../api/store-quota.ts";

/** The facts and problems of one object. */
export type ParsedObject<Fact> = Omit<Parsed<Fact>, "key">;

/** Event handlers of an `ObjectTable`. */
export interface ObjectTableEvents<Fact> {
  /** A fact was added or changed. */
  changed(fact: Fact, at: number): void;
  /** A reported fact was removed. */
  removed(fact: Fact, at: number): void;
  /** The problems of one object changed. */
  problems(object: string, problems: readonly Problem[]): void;
}

/** Limits what is kept of an `ObjectTable`, shared by namespaces. */
export interface TableLimits<Fact> {
  readonly quota: StoreQuota<Fact>;
  /** When an object was created: of a namespace, the oldest ones are kept. */
  readonly sinceOf: (fact: Fact) => number;
}

/** The facts of one kind. Most changes of an object (heartbeats, annotations) change no fact and are not reported. */
export class ObjectTable<Fact> {
  readonly #events: ObjectTableEvents<Fact>;
  /** The reported facts, by key of the object. */
  readonly #facts = new Map<string, Fact>();
  readonly #problems = new Map<string, ParsedObject<Fact>>();
  readonly #limits: TableLimits<Fact> | undefined;
  #leftOut = new Set<string>();
  /** The time of the last change. */
  #at = 0;

  /** `limits`: absent without a limit. */
  constructor(events: ObjectTableEvents<Fact>, limits?: TableLimits<Fact>) {
    this.#events = events;
    this.#limits = limits;
    limits?.quota.serve({
      stored: (key) => this.#stored(key),
      allStored: () => this.#allStored(),
      evictFact: (key) => {
        this.#leftOut.add(key);
        this.replace(key, undefined, this.#at);
      },
      evictProblems: (key) => {
        this.#leftOut.add(key);
        this.#reportProblems(key, undefined);
      },
    });
  }

  /** A full list begins: limits apply at its end, and before too much is kept. */
  begin(): void {
    this.#limits?.quota.begin();
  }

  /** A full list is complete, or was interrupted. */
  end(): void {
    this.#limits?.quota.end();
  }

  /** Number of facts. */
  get size(): number {
    return this.#facts.size;
  }

  /** The current fact of an object; undefined if there is none. */
  fact(key: string): Fact | undefined {
    return this.#facts.get(key);
  }

  /** The current facts. */
  facts(): Iterable<Fact> {
    return this.#facts.values();
  }

  /** Objects that were left out, or whose problems were, since the last call: once there is room, they must be read again. */
  takeLeftOut(): ReadonlySet<string> {
    const keys = this.#leftOut;
    this.#leftOut = new Set();
    return keys;
  }

  /** Sets the present state of an object; undefined: it was deleted. If it is invalid now, its earlier fact is removed. */
  set(key: string, next: ParsedObject<Fact> | undefined, at: number): void {
    this.#at = at;
    const admitted = this.#admit(key, next);
    this.#reportProblems(key, admitted);
    this.replace(key, admitted?.fact, at);
  }

  /** Sets the fact of an object; its problems stay. */
  replace(key: string, fact: Fact | undefined, at: number): void {
    const before = this.#facts.get(key);
    // Keeps the value that the model holds, so that it is in memory once.
    if (isDeepStrictEqual(before, fact)) return;
    if (fact !== undefined) {
      this.#facts.set(key, fact);
      try {
        this.#events.changed(fact, at);
      } catch (thrown) {
        // A reflector delivers the object again; it must count as a change then.
        if (before === undefined) this.#facts.delete(key);
        else this.#facts.set(key, before);
        throw thrown;
      }
    } else if (before !== undefined) {
      this.#facts.delete(key);
      this.#events.removed(before, at);
    }
  }

  #admit(key: string, next: ParsedObject<Fact> | undefined): ParsedObject<Fact> | undefined {
    if (this.#limits === undefined) return next;
    const { quota } = this.#limits;
    const all = next ?? { object: key, problems: [] };
    const admitted = quota.admit(key, this.#sinceOf(next?.fact), all);
    const isWhole = admitted.fact === all.fact && admitted.problems.length === all.problems.length;
    if (isWhole) this.#leftOut.delete(key);
    else this.#leftOut.add(key);
    return next && admitted;
  }

  #sinceOf(fact: Fact | undefined): number {
    return fact === undefined ? 0 : (this.#limits?.sinceOf(fact) ?? 0);
  }

  #stored(key: string): Stored<Fact> {
    const fact = this.#facts.get(key);
    const problems = this.#problems.get(key)?.problems ?? [];
    return { fact, problems, since: this.#sinceOf(fact) };
  }

  *#allStored(): Generator<readonly [string, Stored<Fact>]> {
    for (const key of this.#facts.keys()) yield [key, this.#stored(key)];
    for (const key of this.#problems.keys())
      if (!this.#facts.has(key)) yield [key, this.#stored(key)];
  }

  #reportProblems(key: string, next: ParsedObject<Fact> | undefined): void {
    const before = this.#problems.get(key);
    const problems = next?.problems ?? [];
    if (isDeepStrictEqual(before?.problems ?? [], problems)) return;
    const object = before?.object ?? next?.object ?? "";
    this.#events.problems(object, problems);
    if (problems.length === 0) this.#problems.delete(key);
    else this.#problems.set(key, { object, problems });
  }
}
