import { FairBudget } from "../../api/fair-budget.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Limit } from "../registry/registry-limits.ts";

/** An object for which room is requested. */
export interface Applicant {
  readonly key: string;
  /** The namespace with which others share the limits. */
  readonly owner: string;
  /** When it was created: the oldest objects of a namespace come first. */
  readonly since: number;
}

/** What a `Quota` reports. */
export interface QuotaEvents {
  /** A held object lost its place to one of another namespace, or to an older one of its own. */
  evicted(key: string): void;
  /** The reasons for which objects of a namespace are rejected now have changed. */
  rejects(owner: string, reasons: readonly Reason[]): void;
  /** Objects that were rejected fit now. */
  room(): void;
}

interface Claim {
  readonly owner: string;
  readonly weights: readonly number[];
  /** Undefined: it is held, or fits. */
  rejection: Reason | undefined;
  isHeld: boolean;
}

/** While a list is read, this many times the limit is held before shares are computed anew. */
const SLACK = 1.25;

/**
 * Limits how much of one kind of object is kept from a source that may be hostile or broken. Namespaces share each limit, max-min fair, so that none takes
 * another's place. What is kept depends on what exists alone, and so is the same after a restart.
 */
export class Quota<Fact> {
  readonly #limits: readonly Limit<Fact>[];
  readonly #budgets: readonly FairBudget<string>[];
  readonly #events: QuotaEvents;
  readonly #claims = new Map<string, Claim>();
  /** The weights of what is held, for each limit. */
  readonly #sums: number[];
  /** Numbers of rejected objects, by namespace and reason. */
  readonly #rejected = new Map<string, Map<Reason, number>>();
  #isListing = false;

  constructor(limits: readonly Limit<Fact>[], events: QuotaEvents) {
    this.#limits = limits;
    this.#budgets = limits.map(({ most }) => new FairBudget<string>(most));
    this.#sums = limits.map(() => 0);
    this.#events = events;
  }

  /** Why an existing object is rejected; undefined if it is not. */
  rejection(key: string): Reason | undefined {
    return this.#claims.get(key)?.rejection;
  }

  /** A full list begins: shares are computed at its end, and before too much is held. */
  begin(): void {
    this.#isListing = true;
  }

  /** A full list is complete. */
  end(): void {
    this.#isListing = false;
    this.#settle();
  }

  /** Takes `fact` in place of what was there; undefined: the object is gone, or unusable. False if it is rejected. */
  take({ key, owner, since }: Applicant, fact: Fact | undefined): boolean {
    const before = this.#claims.get(key);
    if (before !== undefined) this.#hold(before, false);
    const weights = this.#limits.map(({ weigh }) => (fact === undefined ? 0 : weigh(fact)));
    for (const [i, budget] of this.#budgets.entries())
      budget.set(key, owner, since, weights[i] ?? 0);
    if (fact === undefined) {
      if (before !== undefined) this.#reject(before, undefined);
      this.#claims.delete(key);
      if (!this.#isListing) this.#settle();
      return true;
    }
    const claim: Claim = { owner, weights, rejection: before?.rejection, isHeld: false };
    this.#claims.set(key, claim);
    // Before it is held: if it does not fit, it is rejected, not evicted. What was rejected may fit since others went.
    if (!this.#isListing || claim.rejection !== undefined || this.#exceedsSlack(claim))
      this.#settle();
    if (claim.rejection !== undefined) return false;
    this.#hold(claim, true);
    return true;
  }

  /** Compares what is held with the shares. */
  #settle(): void {
    const changed = new Set(this.#budgets.flatMap((budget) => [...budget.takeChanged()]));
    let isRoom = false;
    for (const key of changed) {
      const claim = this.#claims.get(key);
      if (claim === undefined) continue;
      const i = this.#budgets.findIndex((budget) => budget.restricted(key) !== undefined);
      const rejection = this.#limits[i]?.reason;
      isRoom ||= rejection === undefined && claim.rejection !== undefined;
      this.#reject(claim, rejection);
      if (rejection === undefined || !claim.isHeld) continue;
      this.#hold(claim, false);
      this.#events.evicted(key);
    }
    if (isRoom) this.#events.room();
  }

  #exceedsSlack({ weights }: Claim): boolean {
    const isOver = (most: number, i: number) => (this.#sums[i] ?? 0) + (weights[i] ?? 0) > most;
    return this.#limits.some(({ most }, i) => isOver(most * SLACK, i));
  }

  #hold(claim: Claim, isHeld: boolean): void {
    if (claim.isHeld === isHeld) return;
    claim.isHeld = isHeld;
    for (const [i, weight] of claim.weights.entries())
      this.#sums[i] = (this.#sums[i] ?? 0) + (isHeld ? weight : -weight);
  }

  #reject(claim: Claim, rejection: Reason | undefined): void {
    const { owner, rejection: before } = claim;
    if (before === rejection) return;
    claim.rejection = rejection;
    const counts = this.#rejected.get(owner) ?? new Map<Reason, number>();
    const known = [...counts.keys()].sort();
    for (const [reason, step] of [[before, -1] as const, [rejection, 1] as const]) {
      if (reason === undefined) continue;
      const count = (counts.get(reason) ?? 0) + step;
      if (count === 0) counts.delete(reason);
      else counts.set(reason, count);
    }
    if (counts.size === 0) this.#rejected.delete(owner);
    else this.#rejected.set(owner, counts);
    const reasons = [...counts.keys()].sort();
    if (reasons.join() !== known.join()) this.#events.rejects(owner, reasons);
  }
}
