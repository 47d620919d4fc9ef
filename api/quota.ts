import { FairBudget } from "./fair-budget.ts";
import type { Reason } from "./reasons.ts";

/** A limit on the sum of what objects weigh. Namespaces share it. */
export interface Limit<Fact, Why extends Reason = Reason> {
  /** Why an object over the limit is rejected. */
  readonly reason: Why;
  readonly most: number;
  readonly weigh: (fact: Fact) => number;
}

/** An object for which room is requested. */
export interface Applicant {
  readonly key: string;
  /** The namespace with which others share the limits. */
  readonly owner: string;
  /** When it was created: the oldest objects of a namespace come first. */
  readonly since: number;
}

/** An object that is kept. */
export interface Held<Fact> extends Applicant {
  readonly fact: Fact;
}

/** Where the objects of a `Quota` are kept, and what it reports. */
export interface QuotaEvents<Fact> {
  /** What is kept of an object. */
  held(key: string): Fact | undefined;
  /** All that is kept. */
  allHeld(): Iterable<Held<Fact>>;
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

/** Shares of the limits; absent while the limits are enough: a claim for each object would be much memory. */
interface Shares {
  readonly budgets: readonly FairBudget<string>[];
  readonly claims: Map<string, Claim>;
  /** Numbers of rejected objects, by namespace and reason. */
  readonly rejected: Map<string, Map<Reason, number>>;
}

/**
 * Limits how much of one kind of object is kept from a source that may be hostile or broken. Namespaces share each limit, max-min fair, so that none takes
 * another's place. What is kept depends on what exists alone, and so is the same after a restart.
 */
export class Quota<Fact> {
  readonly #limits: readonly Limit<Fact>[];
  readonly #events: QuotaEvents<Fact>;
  /** The weights of what is held, for each limit. */
  readonly #sums: number[];
  #shares: Shares | undefined;
  #isListing = false;

  constructor(limits: readonly Limit<Fact>[], events: QuotaEvents<Fact>) {
    this.#limits = limits;
    this.#sums = limits.map(() => 0);
    this.#events = events;
  }

  /** Why an existing object is rejected; undefined if it is not. */
  rejection(key: string): Reason | undefined {
    return this.#shares?.claims.get(key)?.rejection;
  }

  /** A full list begins: shares are computed at its end, and before too much is held. */
  begin(): void {
    this.#isListing = true;
  }

  /** A full list is complete. */
  end(): void {
    this.#isListing = false;
    if (this.#shares !== undefined) this.#settle(this.#shares);
  }

  /**
   * Takes `fact` in place of what was there; undefined: the object is gone, or unusable. False if it is rejected. The caller keeps what is taken, and nothing
   * else.
   */
  take(applicant: Applicant, fact: Fact | undefined): boolean {
    const weights = this.#weigh(fact);
    if (this.#shares === undefined) {
      const before = this.#weigh(this.#events.held(applicant.key));
      const sums = this.#sums.map((sum, i) => sum + (weights[i] ?? 0) - (before[i] ?? 0));
      if (this.#limits.every(({ most }, i) => (sums[i] ?? 0) <= most)) {
        for (const [i, sum] of sums.entries()) this.#sums[i] = sum;
        return true;
      }
      this.#shares = this.#newShares();
    }
    return this.#takeShare(this.#shares, applicant, fact === undefined ? undefined : weights);
  }

  #takeShare(
    shares: Shares,
    applicant: Applicant,
    weights: readonly number[] | undefined,
  ): boolean {
    const { key, owner } = applicant;
    const { claims } = shares;
    const before = claims.get(key);
    if (before !== undefined) this.#hold(before, false);
    claimShares(shares, applicant, weights);
    if (weights === undefined) {
      if (before !== undefined) this.#reject(shares, before, undefined);
      claims.delete(key);
      if (!this.#isListing) this.#settle(shares);
      return true;
    }
    const claim: Claim = { owner, weights, rejection: before?.rejection, isHeld: false };
    claims.set(key, claim);
    // Before it is held: if it does not fit, it is rejected, not evicted. What was rejected may fit since others went.
    if (!this.#isListing || claim.rejection !== undefined || this.#exceedsSlack(claim))
      this.#settle(shares);
    if (claim.rejection !== undefined) return false;
    this.#hold(claim, true);
    return true;
  }

  /** The shares of what is held. */
  #newShares(): Shares {
    const budgets = this.#limits.map(({ most }) => new FairBudget<string>(most));
    const shares: Shares = { budgets, claims: new Map(), rejected: new Map() };
    for (const held of this.#events.allHeld()) {
      const weights = this.#weigh(held.fact);
      const { key, owner } = held;
      shares.claims.set(key, { owner, weights, rejection: undefined, isHeld: true });
      claimShares(shares, held, weights);
    }
    return shares;
  }

  /** Compares what is held with the shares. */
  #settle(shares: Shares): void {
    const changed = new Set(shares.budgets.flatMap((budget) => [...budget.takeChanged()]));
    let isRoom = false;
    for (const key of changed) {
      const claim = shares.claims.get(key);
      if (claim === undefined) continue;
      const i = shares.budgets.findIndex((budget) => budget.restricted(key) !== undefined);
      const rejection = this.#limits[i]?.reason;
      isRoom ||= rejection === undefined && claim.rejection !== undefined;
      this.#reject(shares, claim, rejection);
      if (rejection === undefined || !claim.isHeld) continue;
      this.#hold(claim, false);
      this.#events.evicted(key);
    }
    if (isRoom) this.#events.room();
    const { budgets } = shares;
    const isNeeded = budgets.some(({ asked }, i) => asked > (this.#limits[i]?.most ?? 0) / 2);
    // What fits again and is not held yet is still counted.
    const areHeld = budgets.every(({ asked }, i) => asked === this.#sums[i]);
    if (!isNeeded && areHeld && shares.rejected.size === 0) this.#shares = undefined;
  }

  #exceedsSlack({ weights }: Claim): boolean {
    const isOver = (most: number, i: number) => (this.#sums[i] ?? 0) + (weights[i] ?? 0) > most;
    return this.#limits.some(({ most }, i) => isOver(most * SLACK, i));
  }

  #weigh(fact: Fact | undefined): number[] {
    return this.#limits.map(({ weigh }) => (fact === undefined ? 0 : weigh(fact)));
  }

  #hold(claim: Claim, isHeld: boolean): void {
    if (claim.isHeld === isHeld) return;
    claim.isHeld = isHeld;
    for (const [i, weight] of claim.weights.entries())
      this.#sums[i] = (this.#sums[i] ?? 0) + (isHeld ? weight : -weight);
  }

  #reject({ rejected }: Shares, claim: Claim, rejection: Reason | undefined): void {
    const { owner, rejection: before } = claim;
    if (before === rejection) return;
    claim.rejection = rejection;
    const counts = rejected.get(owner) ?? new Map<Reason, number>();
    const known = [...counts.keys()].sort();
    for (const [reason, step] of [[before, -1] as const, [rejection, 1] as const]) {
      if (reason === undefined) continue;
      const count = (counts.get(reason) ?? 0) + step;
      if (count === 0) counts.delete(reason);
      else counts.set(reason, count);
    }
    if (counts.size === 0) rejected.delete(owner);
    else rejected.set(owner, counts);
    const reasons = [...counts.keys()].sort();
    if (reasons.join() !== known.join()) this.#events.rejects(owner, reasons);
  }
}

function claimShares(
  { budgets }: Shares,
  { key, owner, since }: Applicant,
  weights: readonly number[] = [],
): void {
  for (const [i, budget] of budgets.entries()) budget.set(key, owner, since, weights[i] ?? 0);
}

/** Bytes of a text, an array or an object besides its content, on V8 with compressed layouts left aside. */
const HEADER = 24;
const FIELD = 8;
/** Bytes of an entry of a Map or Set, without the key and the value. */
const ENTRY = 32;

/**
 * About how many bytes of memory a parsed value takes, as weight of an object that shares a limit. A value that several objects share counts for each of them.
 * PURE.
 */
export function memorySize(value: unknown): number {
  if (typeof value === "string") return HEADER + value.length;
  if (typeof value !== "object" || value === null) return 0;
  let size = HEADER;
  if (Array.isArray(value)) {
    for (const item of value) size += FIELD + memorySize(item);
  } else if (value instanceof Map) {
    for (const [key, item] of value) size += ENTRY + memorySize(key) + memorySize(item);
  } else {
    for (const item of Object.values(value)) size += FIELD + memorySize(item);
  }
  return size;
}
