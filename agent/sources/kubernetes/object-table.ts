import { isDeepStrictEqual } from "node:util";
import type { Parsed } from "../../../api/parse/parsed.ts";
import type { Problem } from "../../../api/problem.ts";

/** Who is told what became of the objects of one kind. */
export interface ObjectTold<Fact> {
  /** A fact is new, or another one than was told before. */
  changed(fact: Fact, at: number): void;
  /** A fact that was told is true no more. */
  removed(fact: Fact, at: number): void;
  /** All that is wrong with one object, if that is not what was told before. */
  problems(object: string, problems: readonly Problem[]): void;
}

/** What is wrong with one object. */
interface Faults {
  readonly object: string;
  readonly problems: readonly Problem[];
}

/**
 * The objects of one kind, as facts: each is parsed when it arrives, and then forgotten. Most changes of an
 * object (its heartbeat, its annotations, its managedFields) change no fact, and are not told.
 */
export class ObjectTable<Fact> {
  readonly #parse: (object: unknown) => Parsed<Fact>;
  readonly #told: ObjectTold<Fact>;
  /** What was told last, by the reflector's key. */
  readonly #facts = new Map<string, Fact>();
  readonly #faults = new Map<string, Faults>();

  constructor(parse: (object: unknown) => Parsed<Fact>, told: ObjectTold<Fact>) {
    this.#parse = parse;
    this.#told = told;
  }

  /** How many facts there are. */
  get size(): number {
    return this.#facts.size;
  }

  /** The facts as of now. */
  facts(): Iterable<Fact> {
    return this.#facts.values();
  }

  /** An object is as it is here. One that has become unusable is a problem, and keeps nothing of its old self. */
  changed(key: string, object: unknown, at: number): void {
    this.#become(key, this.#parse(object), at);
  }

  /** An object is gone. */
  removed(key: string, at: number): void {
    this.#become(key, undefined, at);
  }

  #become(key: string, next: Parsed<Fact> | undefined, at: number): void {
    this.#tellFaults(key, next);
    const before = this.#facts.get(key);
    const fact = next?.fact;
    // What has not changed stays the value that the model holds: it is in memory once.
    if (isDeepStrictEqual(before, fact)) return;
    if (fact !== undefined) {
      this.#facts.set(key, fact);
      try {
        this.#told.changed(fact, at);
      } catch (thrown) {
        // Whoever follows the objects brings it once more, and it has to be news then.
        if (before === undefined) this.#facts.delete(key);
        else this.#facts.set(key, before);
        throw thrown;
      }
    } else if (before !== undefined) {
      this.#facts.delete(key);
      this.#told.removed(before, at);
    }
  }

  #tellFaults(key: string, next: Parsed<Fact> | undefined): void {
    const before = this.#faults.get(key);
    const problems = next?.problems ?? [];
    if (isDeepStrictEqual(before?.problems ?? [], problems)) return;
    const object = next?.object ?? before?.object ?? "";
    this.#told.problems(object, problems);
    if (problems.length === 0) this.#faults.delete(key);
    else this.#faults.set(key, { object, problems });
  }
}
