/** What an object gets that does not get all that it asks for. */
export interface Restricted {
  /** Less than its cost. */
  readonly grant: number;
  /** The limit that applies: of its owner, or of all. */
  readonly by: "owner" | "all";
}

interface Claim<Key> {
  readonly key: Key;
  readonly owner: string;
  /** When its object was created: the oldest come first. */
  readonly since: number;
  readonly cost: number;
}

interface Owner<Key> {
  /** In the order in which they get what they ask for. */
  readonly claims: Claim<Key>[];
  cost: number;
  restricted: ReadonlyMap<Key, Restricted>;
}

/**
 * Shares a limit among owners, such as namespaces, max-min fair: no owner gets more than it asks for, and one that asks for less than an equal share gets
 * all of it, whatever the others ask for. What an owner gets goes to its oldest objects first. The result depends on what exists, not on the order in which it was
 * listed, so it is the same after a restart.
 */
export class FairBudget<Key extends string> {
  readonly #most: number;
  readonly #mostOfOwner: number;
  readonly #owners = new Map<string, Owner<Key>>();
  readonly #claims = new Map<Key, Claim<Key>>();
  readonly #unsettled = new Set<string>();
  /** What all ask for, up to the limit of each owner. */
  #asked = 0;
  /** The most that an owner gets now; infinite while the limit is enough for all. */
  #level = Number.POSITIVE_INFINITY;
  #changed = new Set<Key>();

  /** `mostOfOwner`: another limit, which applies to each owner alone. */
  constructor(most: number, mostOfOwner = Number.POSITIVE_INFINITY) {
    this.#most = most;
    this.#mostOfOwner = mostOfOwner;
  }

  /** Sets what an object asks for; 0 if it does not exist. `since`: when it was created, in any unit. */
  set(key: Key, owner: string, since: number, cost: number): void {
    const before = this.#claims.get(key);
    if (before?.cost === cost && before.since === since && before.owner === owner) return;
    if (before === undefined && cost === 0) return;
    if (before !== undefined) this.#remove(before);
    if (cost > 0) this.#add({ key, owner, since, cost });
  }

  /** Undefined if an object gets all that it asks for. */
  restricted(key: Key): Restricted | undefined {
    this.#settle();
    const owner = this.#claims.get(key)?.owner;
    return owner === undefined ? undefined : this.#owners.get(owner)?.restricted.get(key);
  }

  /** Objects that get more or less than at the last call, or that appeared and get less than they ask for. */
  takeChanged(): ReadonlySet<Key> {
    this.#settle();
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  #add(claim: Claim<Key>): void {
    const owner = this.#owners.get(claim.owner) ?? { claims: [], cost: 0, restricted: new Map() };
    this.#owners.set(claim.owner, owner);
    this.#claims.set(claim.key, claim);
    owner.claims.splice(placeOf(claim, owner.claims), 0, claim);
    this.#count(owner, claim.cost);
    this.#unsettled.add(claim.owner);
  }

  #remove(claim: Claim<Key>): void {
    this.#claims.delete(claim.key);
    const owner = this.#owners.get(claim.owner);
    if (owner === undefined) return;
    owner.claims.splice(placeOf(claim, owner.claims), 1);
    this.#count(owner, -claim.cost);
    this.#unsettled.add(claim.owner);
  }

  #count(owner: Owner<Key>, cost: number): void {
    this.#asked -= Math.min(owner.cost, this.#mostOfOwner);
    owner.cost += cost;
    this.#asked += Math.min(owner.cost, this.#mostOfOwner);
  }

  /** Computes anew only what is over a limit, or was: that is rare. */
  #settle(): void {
    if (this.#unsettled.size === 0) return;
    const before = this.#level;
    const costs = () => this.#owners.values().map(({ cost }) => Math.min(cost, this.#mostOfOwner));
    this.#level =
      this.#asked > this.#most ? levelOf(costs(), this.#most) : Number.POSITIVE_INFINITY;
    const names = before === this.#level ? this.#unsettled : this.#owners.keys();
    for (const name of names) {
      const owner = this.#owners.get(name);
      if (owner === undefined) continue;
      const isOver = owner.cost > Math.min(this.#level, this.#mostOfOwner);
      if (isOver || owner.restricted.size > 0) this.#restrict(owner);
      if (owner.claims.length === 0) this.#owners.delete(name);
    }
    this.#unsettled.clear();
  }

  #restrict(owner: Owner<Key>): void {
    const by = this.#level < this.#mostOfOwner ? "all" : "owner";
    const before = owner.restricted;
    const after = new Map<Key, Restricted>();
    let left = Math.min(this.#level, this.#mostOfOwner);
    for (const { key, cost } of owner.claims) {
      const grant = Math.min(cost, left);
      left -= grant;
      if (grant < cost) after.set(key, { grant, by });
    }
    owner.restricted = after;
    for (const key of new Set([...before.keys(), ...after.keys()])) {
      const [old, next] = [before.get(key), after.get(key)];
      if (old?.grant !== next?.grant || old?.by !== next?.by) this.#changed.add(key);
    }
  }
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

function isBefore<Key>(a: Claim<Key>, b: Claim<Key>): boolean {
  return a.since === b.since ? a.key < b.key : a.since < b.since;
}
