/** What an object gets that does not get all that it asks for. */
export interface Restricted {
  /** Less than its cost; 0 if that would be less than its least. */
  readonly grant: number;
}

interface Claim<Key> {
  readonly key: Key;
  readonly owner: string;
  /** When its object was created: the oldest come first. */
  readonly since: number;
  readonly cost: number;
  /** Less than that is of no use to the object. */
  readonly least: number;
}

interface Owner<Key> {
  /** In the order in which they get what they ask for. */
  readonly claims: Claim<Key>[];
  cost: number;
  /** As many claims, the first ones, get all that they ask for, and cost this. */
  full: number;
  fullCost: number;
  /** The next one, which gets `grant`, or its least from what is left after the shares; those after it get nothing. */
  partial: Claim<Key> | undefined;
  grant: number;
}

/**
 * Shares a limit among owners, such as namespaces, max-min fair: no owner gets more than it asks for, and one that asks for less than an equal share gets
 * all of it, whatever the others ask for. What an owner gets goes to its oldest objects first. Where an equal share is too small for an owner's next object,
 * the object gets its least from what is left after the shares, while it lasts: the owner that has the least with it comes first, then the one whose object is
 * the oldest. The result depends on what exists, not on the order in which it was listed, so it is the same after a restart. While the limit is not enough, a
 * change costs as much as there are owners and objects that get more or less.
 */
export class FairBudget<Key extends string> {
  #most: number;
  readonly #isCoarse: boolean;
  readonly #owners = new Map<string, Owner<Key>>();
  readonly #claims = new Map<Key, Claim<Key>>();
  readonly #unsettled = new Set<string>();
  #isSettled = true;
  #asked = 0;
  /** The most that an owner gets now; infinite while the limit is enough for all. */
  #level = Number.POSITIVE_INFINITY;
  /** Claims that get their least although the share of their owner is less. */
  #lifted = new Set<Claim<Key>>();
  #changed = new Set<Key>();

  /** `isCoarse`: an object gets up to 3 % less than its share, so that its share rarely changes with what others ask for. */
  constructor(most: number, { isCoarse = false } = {}) {
    this.#most = most;
    this.#isCoarse = isCoarse;
  }

  /** What all objects ask for. */
  get asked(): number {
    return this.#asked;
  }

  /** Sets the limit. All objects that get less than they ask for count as changed: they may get it for another reason. */
  limit(most: number): void {
    if (most === this.#most) return;
    this.#most = most;
    this.#isSettled = false;
    for (const { claims, full } of this.#owners.values())
      for (const { key } of claims.slice(full)) this.#changed.add(key);
  }

  /**
   * Sets what an object asks for; 0 if it does not exist. `since`: when it was created, in any unit. `least`: less is of no use to it; absent: the cost
   * cannot be divided.
   */
  set(key: Key, owner: string, since: number, cost: number, least = cost): void {
    const before = this.#claims.get(key);
    if (before === undefined && cost === 0) return;
    const claim = { key, owner, since, cost, least };
    if (before !== undefined && isSame(before, claim)) return;
    if (before !== undefined) this.#remove(before);
    if (cost > 0) this.#add(claim);
  }

  /** Undefined if an object gets all that it asks for. */
  restricted(key: Key): Restricted | undefined {
    this.#settle();
    const claim = this.#claims.get(key);
    if (claim === undefined) return undefined;
    const owner = this.#owners.get(claim.owner);
    if (owner?.partial === undefined || isBefore(claim, owner.partial)) return undefined;
    const least = this.#lifted.has(claim) ? claim.least : 0;
    if (least === claim.cost) return undefined;
    return { grant: claim === owner.partial ? Math.max(owner.grant, least) : 0 };
  }

  /** Objects that get more or less than at the last call, or that appeared and get less than they ask for. */
  takeChanged(): ReadonlySet<Key> {
    this.#settle();
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  /** A claim among the full ones is full until it is settled. */
  #add(claim: Claim<Key>): void {
    const owner = this.#owners.get(claim.owner) ?? ownerOf<Key>();
    this.#owners.set(claim.owner, owner);
    this.#claims.set(claim.key, claim);
    const place = placeOf(claim, owner.claims);
    owner.claims.splice(place, 0, claim);
    if (place > owner.full) this.#changed.add(claim.key);
    else {
      owner.full++;
      owner.fullCost += claim.cost;
    }
    this.#count(claim, claim.cost, owner);
  }

  #remove(claim: Claim<Key>): void {
    this.#claims.delete(claim.key);
    const owner = this.#owners.get(claim.owner);
    if (owner === undefined) return;
    const place = placeOf(claim, owner.claims);
    owner.claims.splice(place, 1);
    if (place >= owner.full) this.#changed.add(claim.key);
    else {
      owner.full--;
      owner.fullCost -= claim.cost;
    }
    this.#count(claim, -claim.cost, owner);
  }

  #count({ owner: name }: Claim<Key>, cost: number, owner: Owner<Key>): void {
    owner.cost += cost;
    this.#asked += cost;
    this.#unsettled.add(name);
    this.#isSettled = false;
  }

  /** Computes anew only what is over a limit, or was: that is rare. */
  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const before = this.#level;
    const costs = () => this.#owners.values().map(({ cost }) => cost);
    this.#level =
      this.#asked > this.#most ? levelOf(costs(), this.#most) : Number.POSITIVE_INFINITY;
    const names = before === this.#level ? this.#unsettled : this.#owners.keys();
    for (const name of names) {
      const owner = this.#owners.get(name);
      if (owner === undefined) continue;
      this.#restrict(owner);
      if (owner.claims.length === 0) this.#owners.delete(name);
    }
    this.#unsettled.clear();
    this.#lift();
  }

  /** Gives what is left after the shares. In sum it is less than the next objects of all owners ask for, so one for each owner is enough. */
  #lift(): void {
    const before = this.#lifted;
    if (before.size === 0 && this.#level === Number.POSITIVE_INFINITY) return;
    this.#lifted = new Set();
    const next: { readonly claim: Claim<Key>; readonly sum: number }[] = [];
    let left = this.#level === Number.POSITIVE_INFINITY ? 0 : this.#most;
    for (const { partial: claim, fullCost, grant } of this.#owners.values()) {
      left -= fullCost + grant;
      if (claim !== undefined && grant === 0) next.push({ claim, sum: fullCost + claim.least });
    }
    next.sort((a, b) => a.sum - b.sum || (isBefore(a.claim, b.claim) ? -1 : 1));
    for (const { claim } of next) {
      left -= claim.least;
      if (left < 0) break;
      this.#lifted.add(claim);
    }
    for (const { key } of this.#lifted.symmetricDifference(before)) this.#changed.add(key);
  }

  /** Moves the end of the full claims to where the limit is. */
  #restrict(owner: Owner<Key>): void {
    const { claims } = owner;
    const limit = this.#level;
    const [partial, grant] = [owner.partial, owner.grant];
    for (; owner.fullCost > limit; ) {
      const last = claims[--owner.full];
      if (last === undefined) break;
      owner.fullCost -= last.cost;
      this.#changed.add(last.key);
    }
    for (let next = claims[owner.full]; next !== undefined; next = claims[owner.full]) {
      if (owner.fullCost + next.cost > limit) break;
      owner.full++;
      owner.fullCost += next.cost;
      this.#changed.add(next.key);
    }
    owner.partial = claims[owner.full];
    owner.grant =
      owner.partial === undefined ? 0 : this.#partOf(owner.partial, limit - owner.fullCost);
    if (partial !== owner.partial || grant !== owner.grant) {
      for (const claim of [partial, owner.partial])
        if (claim !== undefined) this.#changed.add(claim.key);
    }
  }

  /** What a claim gets of what is left of a share that is not enough. */
  #partOf({ least }: Claim<Key>, left: number): number {
    if (left < least) return 0;
    return this.#isCoarse ? Math.max(least, coarse(left)) : left;
  }
}

function ownerOf<Key>(): Owner<Key> {
  return { claims: [], cost: 0, full: 0, fullCost: 0, partial: undefined, grant: 0 };
}

/** At most 3 % less, in steps. PURE. */
function coarse(rest: number): number {
  return rest - (rest % 2 ** Math.max(0, Math.floor(Math.log2(rest)) - 5));
}

/** The most that each of these gets if they share `most`; infinite if it is enough. PURE. */
export function levelOf(costs: Iterable<number>, most: number): number {
  const ordered = [...costs].toSorted((a, b) => a - b);
  let left = most;
  for (const [i, cost] of ordered.entries()) {
    const share = Math.floor(left / (ordered.length - i));
    if (cost > share) return share;
    left -= cost;
  }
  return Number.POSITIVE_INFINITY;
}

/** Where a claim is, or belongs, among these. */
function placeOf<Key>(claim: Claim<Key>, claims: readonly Claim<Key>[]): number {
  let [low, high] = [0, claims.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = claims[middle];
    if (other !== undefined && isBefore(other, claim)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isSame<Key>(a: Claim<Key>, b: Claim<Key>): boolean {
  return a.owner === b.owner && a.since === b.since && a.cost === b.cost && a.least === b.least;
}

function isBefore<Key>(a: Claim<Key>, b: Claim<Key>): boolean {
  return a.since === b.since ? a.key < b.key : a.since < b.since;
}

/**
 * The cost of an endpoint with session affinity, in that of one without: it has two rules and a list of clients, and the kernel
 * searches all lists for each rule (xt_recent). 25,000 plain rules take 0.7 s, those of 2,500 endpoints with affinity 0.3 s, of
 * 12,500 endpoints 5.5 s (Linux 6.18, iptables-nft).
 */
const AFFINITY = 10;

/** Rules of one import that agents program by default. The kernel takes about a second for them, during which it accepts no other change. */
export const RULES_PER_IMPORT = 25_000;

/**
 * Rules that an endpoint costs a node for each VIP: one for each port that its slice and its import have, ten with session
 * affinity. Agents and controllers count alike, so `--max-rules-per-import` has one meaning.
 */
export function endpointCost(slicePorts: number, importPorts: number, affinity: boolean): number {
  return Math.min(slicePorts, importPorts) * (affinity ? AFFINITY : 1);
}

/**
 * How many times as much as is free an owner may hold when it takes one more. One owner alone leaves a fifth free, the next one a fifth of that. A smaller
 * number leaves more to owners that may never come; a larger one leaves nothing in a range of a few addresses.
 */
const MOST_TIMES_FREE = 4;

/**
 * True if an owner that holds `held` may take one more of what is limited, of which `free` are left. For what is not taken back once it is given: an owner
 * can take almost all while it is alone, and never the last ones, so another one finds some. Switches share their buffers in this way (dynamic thresholds,
 * Choudhury and Hahne 1998). What can be taken back is shared by `FairBudget`.
 */
export function mayTake(held: number, free: number): boolean {
  return held < MOST_TIMES_FREE * free;
}
