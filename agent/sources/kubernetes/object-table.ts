import { isDeepStrictEqual } from "node:util";
import type { Problem } from "../../../api/problem.ts";
import type { Parsed } from "../../model/parsed.ts";

/** Who is told what became of the objects of one kind. */
export interface ObjectTold<Fact> {
  /** A fact is new, or another one than was told before. */
  changed(fact: Fact, at: number): void;
  /** A fact that was told is true no more. */
  removed(fact: Fact, at: number): void;
  /** All that is wrong with one object, if that is not what was told before. */
  problems(object: string, problems: readonly Problem[]): void;
}

/** What was told of one object last. */
interface Standing<Fact> {
  readonly object: string;
  readonly fact?: Fact;
  readonly problems: readonly Problem[];
}

/**
 * The objects of one kind, as facts: each is parsed when it arrives, and then forgotten. Most changes of an
 * object (its heartbeat, its annotations, its managedFields) change no fact, and are not told.
 */
export class ObjectTable<Fact> {
  readonly #parse: (object: unknown) => Parsed<Fact>;
  readonly #told: ObjectTold<Fact>;
  /** By the reflector's key; without those of which there is nothing to tell. */
  readonly #standings = new Map<string, Standing<Fact>>();

  constructor(parse: (object: unknown) => Parsed<Fact>, told: ObjectTold<Fact>) {
    this.#parse = parse;
    this.#told = told;
  }

  /** The objects of which anything was told. */
  get size(): number {
    return this.#standings.size;
  }

  /** The facts as of now. */
  *facts(): IterableIterator<Fact> {
    for (const { fact } of this.#standings.values()) if (fact !== undefined) yield fact;
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
    const before = this.#standings.get(key);
    const same = isDeepStrictEqual(before?.fact, next?.fact);
    // What has not changed stays the value that the model holds: it is in memory once.
    const fact = same ? before?.fact : next?.fact;
    const problems = next?.problems ?? [];
    const object = next?.object ?? before?.object ?? "";
    if (fact === undefined && problems.length === 0) this.#standings.delete(key);
    else this.#standings.set(key, { object, problems, ...(fact !== undefined && { fact }) });
    if (!isDeepStrictEqual(before?.problems ?? [], problems)) this.#told.problems(object, problems);
    if (same) return;
    if (fact !== undefined) this.#told.changed(fact, at);
    else if (before?.fact !== undefined) this.#told.removed(before.fact, at);
  }
}
