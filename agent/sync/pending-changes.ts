import { namesOf, type ObjectKey } from "../../api/names.ts";

/** Times that are kept of changes: while the kernel rejects everything for days, the oldest count. */
const MOST_TIMES = 10_000;

/** How much of what changed is taken together. */
export interface Portion {
  /** The rules of one import. */
  readonly rulesOf: (key: ObjectKey) => number;
  /** Maximum rules of one namespace, except that one import is always taken. */
  readonly perNamespace: number;
}

const EVERYTHING: Portion = { rulesOf: () => 0, perNamespace: Number.POSITIVE_INFINITY };

/** Changes that are not live yet: their imports, and when each was observed, in milliseconds of the clock. */
export class PendingChanges {
  /** The times of each import's changes, in the order of the first. */
  readonly #waiting = new Map<ObjectKey, number[]>();
  /** Times in `#waiting`. */
  #times = 0;
  /** Times of changes that were taken, in a transaction that failed. */
  #failed: number[] = [];
  #inFlight: number[] = [];

  /** True if some import changed after `take`, or was left. */
  get any(): boolean {
    return this.#waiting.size > 0;
  }

  /** When the oldest change was observed; undefined if all are live. */
  get oldest(): number | undefined {
    // Sources observe changes one by one, but report them together: the first is not always the oldest.
    const times = [...this.#inFlight, ...this.#failed, ...[...this.#waiting.values()].flat()];
    return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
  }

  add(key: ObjectKey, at: number): void {
    const times = this.#waiting.get(key) ?? [];
    this.#waiting.set(key, times);
    if (this.#times >= MOST_TIMES) return;
    times.push(at);
    this.#times++;
  }

  /** True if an import changed after `take`. */
  has(key: ObjectKey): boolean {
    return this.#waiting.has(key);
  }

  /** The imports that changed; their changes are in flight from now on. What is beyond the portion stays, and is next. */
  take({ rulesOf, perNamespace }: Portion = EVERYTHING): ReadonlySet<ObjectKey> {
    const times = [...this.#inFlight, ...this.#failed.splice(0)];
    const taken = new Set<ObjectKey>();
    const spent = new Map<string, number>();
    for (const [key, own] of this.#waiting) {
      const { namespace } = namesOf(key);
      const before = spent.get(namespace);
      const rules = (before ?? 0) + rulesOf(key);
      if (before !== undefined && rules > perNamespace) continue;
      spent.set(namespace, rules);
      taken.add(key);
      this.#waiting.delete(key);
      this.#times -= own.length;
      for (const time of own) times.push(time);
    }
    this.#inFlight = times.sort((a, b) => a - b).slice(0, MOST_TIMES);
    return taken;
  }

  /** The changes in flight are live: returns their times. */
  live(): readonly number[] {
    return this.#inFlight.splice(0);
  }

  /** The changes in flight wait again, for a transaction that writes everything. */
  failed(): void {
    this.#failed = [...this.#inFlight.splice(0), ...this.#failed].slice(0, MOST_TIMES);
  }
}
