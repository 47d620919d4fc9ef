import type { ObjectKey } from "../../api/names.ts";

/** Imports that are still to be planned, each with the time of its oldest change. */
export class Backlog {
  readonly #since: Map<ObjectKey, number>;

  constructor(since: Iterable<readonly [ObjectKey, number]> = []) {
    this.#since = new Map(since);
  }

  get size(): number {
    return this.#since.size;
  }

  add(key: ObjectKey, at: number): void {
    this.#since.set(key, Math.min(at, this.#since.get(key) ?? at));
  }

  /** Takes one out: gives the time of its oldest change, undefined if it was not in. */
  take(key: ObjectKey): number | undefined {
    const since = this.#since.get(key);
    this.#since.delete(key);
    return since;
  }

  /** Takes out one after the other; what is not asked for stays in. */
  *drain(): IterableIterator<[ObjectKey, number]> {
    for (const entry of this.#since) {
      this.#since.delete(entry[0]);
      yield entry;
    }
  }
}
