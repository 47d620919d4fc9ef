import type { Reason } from "../../api/reasons.ts";

/** How much of one thing is believed. */
export interface Limit<Fact> {
  /** Why what is beyond it is refused. */
  readonly reason: Reason;
  readonly most: number;
  readonly weigh: (fact: Fact) => number;
}

/**
 * How much is believed of one kind of object of somebody who may be hostile, or broken: of what comes, as long as it is
 * within all limits. Who is in stays in, as long as he does not grow; so what is refused is what came last.
 */
export class Allowance<Fact> {
  readonly #limits: readonly { readonly limit: Limit<Fact>; sum: number }[];
  /** Keys of what was refused and is there. */
  readonly #refused = new Set<string>();
  /** Keys of what was there before, which is still to come: it has a place. */
  #expected = new Set<string>();
  #reason: Reason | undefined;

  constructor(limits: readonly Limit<Fact>[]) {
    this.#limits = limits.map((limit) => ({ limit, sum: 0 }));
  }

  /** Why something is refused, now; undefined: nothing is. */
  get reason(): Reason | undefined {
    return this.#refused.size > 0 ? this.#reason : undefined;
  }

  /** These were in before we began. Until a whole list has come, nobody else takes their places. */
  expect(keys: Iterable<string>): void {
    this.#expected = new Set(keys);
  }

  /** A whole list has come: the places of those who have not are free. True if there are any. */
  listed(): boolean {
    const isFree = this.#expected.size > 0;
    this.#expected.clear();
    return isFree;
  }

  /** `next` is to take the place of `before`: true if it may. If not, nothing is in its place any more. */
  take(key: string, next: Fact | undefined, before: Fact | undefined): boolean {
    this.drop(key, before);
    if (next === undefined) return true;
    const isKnown = this.#expected.delete(key) || before !== undefined;
    const over = this.#limits.find(({ limit, sum }) => {
      const weight = limit.weigh(next);
      if (before !== undefined && weight <= limit.weigh(before)) return false;
      // Each that is expected weighs one at least.
      const kept = isKnown ? 0 : this.#expected.size;
      return sum + kept + weight > limit.most;
    });
    if (over !== undefined) {
      this.#refused.add(key);
      this.#reason = over.limit.reason;
      return false;
    }
    this.keep(next);
    return true;
  }

  /** What was there goes on to take its place, though it has gone. */
  keep(fact: Fact): void {
    for (const one of this.#limits) one.sum += one.limit.weigh(fact);
  }

  /** What was there as `before` is gone. */
  drop(key: string, before: Fact | undefined): void {
    this.#refused.delete(key);
    if (before === undefined) return;
    for (const one of this.#limits) one.sum -= one.limit.weigh(before);
  }
}
