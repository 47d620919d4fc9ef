import type { Reason } from "../../api/reasons.ts";

/** A limit on the sum of what objects weigh. */
export interface Limit<Fact> {
  /** Why an object over the limit is rejected. */
  readonly reason: Reason;
  readonly most: number;
  readonly weigh: (fact: Fact) => number;
}

/**
 * Limits how much of one kind of object is kept from a source that may be hostile or broken. Objects that were admitted
 * stay as long as they do not grow, so that a flood cannot displace them.
 */
export class Quota<Fact> {
  readonly #limits: readonly { readonly limit: Limit<Fact>; sum: number }[];
  /** Existing objects that were rejected, and why, by key. */
  readonly #rejected = new Map<string, Reason>();
  /** Keys that were admitted before a restart and are not listed yet: places are reserved for them. */
  #expected = new Set<string>();
  #reason: Reason | undefined;

  constructor(limits: readonly Limit<Fact>[]) {
    this.#limits = limits.map((limit) => ({ limit, sum: 0 }));
  }

  /** Why objects are rejected now; undefined if none is. */
  get reason(): Reason | undefined {
    return this.#rejected.size > 0 ? this.#reason : undefined;
  }

  /** Why an existing object is rejected; undefined if it is not. */
  rejection(key: string): Reason | undefined {
    return this.#rejected.get(key);
  }

  /** Reserves places for these keys until `listed`. */
  expect(keys: Iterable<string>): void {
    this.#expected = new Set(keys);
  }

  /** A full list is complete: unused reservations end. True if there were any. */
  listed(): boolean {
    const isFree = this.#expected.size > 0;
    this.#expected.clear();
    return isFree;
  }

  /** Replaces `before` by `next`. False if `next` is rejected; then nothing is in its place. */
  take(key: string, next: Fact | undefined, before: Fact | undefined): boolean {
    this.#rejected.delete(key);
    if (before !== undefined) this.#add(before, -1);
    if (next === undefined) return true;
    const isKnown = this.#expected.delete(key) || before !== undefined;
    const over = this.#limits.find(({ limit, sum }) => {
      const weight = limit.weigh(next);
      if (before !== undefined && weight <= limit.weigh(before)) return false;
      // An expected object weighs at least one.
      const kept = isKnown ? 0 : this.#expected.size;
      return sum + kept + weight > limit.most;
    });
    if (over !== undefined) {
      this.#rejected.set(key, over.limit.reason);
      this.#reason = over.limit.reason;
      return false;
    }
    this.#add(next, 1);
    return true;
  }

  /** True if `next` in place of `before` makes room for others. */
  makesRoom(before: Fact, next: Fact | undefined): boolean {
    return this.#limits.some(
      ({ limit }) => next === undefined || limit.weigh(next) < limit.weigh(before),
    );
  }

  #add(fact: Fact, times: 1 | -1): void {
    for (const one of this.#limits) one.sum += times * one.limit.weigh(fact);
  }
}
