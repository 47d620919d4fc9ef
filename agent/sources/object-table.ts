import { isDeepStrictEqual } from "node:util";
import type { Parsed } from "../../api/parse/complaints.ts";
import type { Problem } from "../../api/problem.ts";

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

/** The facts of one kind. Most changes of an object (heartbeats, annotations) change no fact and are not reported. */
export class ObjectTable<Fact> {
  readonly #events: ObjectTableEvents<Fact>;
  /** The reported facts, by key of the object. */
  readonly #facts = new Map<string, Fact>();
  readonly #problems = new Map<string, ParsedObject<Fact>>();

  constructor(events: ObjectTableEvents<Fact>) {
    this.#events = events;
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

  /** Sets the present state of an object; undefined: it was deleted. If it is invalid now, its earlier fact is removed. */
  set(key: string, next: ParsedObject<Fact> | undefined, at: number): void {
    this.#reportProblems(key, next);
    this.replace(key, next?.fact, at);
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

  #reportProblems(key: string, next: ParsedObject<Fact> | undefined): void {
    const before = this.#problems.get(key);
    const problems = next?.problems ?? [];
    if (isDeepStrictEqual(before?.problems ?? [], problems)) return;
    const object = next?.object ?? before?.object ?? "";
    this.#events.problems(object, problems);
    if (problems.length === 0) this.#problems.delete(key);
    else this.#problems.set(key, { object, problems });
  }
}
