/** What `ObjectShares` report. */
export interface ShareEvents {
  /** An object lost its place to one of an owner that has fewer. */
  readonly evicted: (key: string) => void;
  /** Objects of an owner are left out; false: none are any more. */
  readonly leavesOut: (owner: string, isTrue: boolean) => void;
}

/** Owners that are remembered, at most. */
const MOST_OWNERS = 1_000;

/**
 * Shares a number of objects among owners, such as namespaces. An owner gets at most half. When all places are taken, an owner that has fewer than another one
 * takes places of the one that has the most. So in the end the shares are max-min fair, in any order of arrival, for the memory of a number for each owner.
 */
export class ObjectShares {
  readonly #most: number;
  readonly #mostOfOwner: number;
  readonly #events: ShareEvents;
  readonly #allKeys: () => Map<string, string[]>;
  /** Objects by owner. */
  readonly #counts = new Map<string, number>();
  /** Owners by their number of objects, so that the largest one is known without a search. */
  readonly #owners = new Map<number, Set<string>>();
  #largest = 0;
  #size = 0;
  /** Owners of which an object was left out, since the list began and before; the first ones. */
  #leftOut = new Set<string>();
  /** There are more than are remembered: another cluster chooses the names of owners. */
  #isMoreLeftOut = false;
  #reported = new Set<string>();
  /** Keys by owner since an object lost its place, in the order in which they became known. */
  #keys = new Map<string, string[]>();

  /** `allKeys`: the objects of each owner; the last one loses its place first. */
  constructor(
    most: number,
    mostOfOwner: number,
    events: ShareEvents,
    allKeys: () => Map<string, string[]>,
  ) {
    this.#most = most;
    this.#mostOfOwner = mostOfOwner;
    this.#events = events;
    this.#allKeys = allKeys;
  }

  /** True if there is room for an object that was left out. */
  get isRoom(): boolean {
    if (this.#size >= this.#most) return false;
    return (
      this.#isMoreLeftOut ||
      this.#leftOut.values().some((owner) => this.#countOf(owner) < this.#mostOf(owner))
    );
  }

  /** A list begins: nothing has a place. */
  begin(): void {
    this.#counts.clear();
    this.#owners.clear();
    this.#largest = 0;
    this.#size = 0;
    this.#leftOut = new Set();
    this.#isMoreLeftOut = false;
    this.#keys = new Map();
  }

  /** The list is complete. */
  complete(): void {
    for (const owner of this.#reported.difference(this.#leftOut)) {
      this.#reported.delete(owner);
      this.#events.leavesOut(owner, false);
    }
  }

  /** Takes a place for an object. False if the object is left out. */
  take(owner: string, key: string): boolean {
    const count = this.#countOf(owner);
    const isTaken =
      count < this.#mostOf(owner) && (this.#size < this.#most || this.#evict(count + 1));
    if (isTaken) {
      this.#count(owner, 1);
      this.#note(owner, key);
    } else this.#leaveOut(owner);
    return isTaken;
  }

  /** Objects without a namespace share with nobody. */
  #mostOf(owner: string): number {
    return owner === "" ? this.#most : this.#mostOfOwner;
  }

  /** The place of an object is free. */
  give(owner: string): void {
    this.#count(owner, -1);
  }

  /** Leaves out an object of the owner with the most, if it has more than `count`. */
  #evict(count: number): boolean {
    while (this.#size >= this.#most) {
      if (this.#largest <= count) return false;
      const [owner = ""] = this.#owners.get(this.#largest) ?? [];
      // One pass for all owners: a pass for each would be quadratic.
      if ((this.#keys.get(owner)?.length ?? 0) === 0) this.#keys = this.#allKeys();
      const key = this.#keys.get(owner)?.pop();
      if (key === undefined) return false;
      this.#leaveOut(owner);
      // The handler gives the place back, unless the object was deleted before.
      this.#events.evicted(key);
    }
    return true;
  }

  #leaveOut(owner: string): void {
    if (this.#leftOut.size < MOST_OWNERS) this.#leftOut.add(owner);
    else this.#isMoreLeftOut ||= !this.#leftOut.has(owner);
    if (this.#reported.has(owner) || this.#reported.size >= MOST_OWNERS) return;
    this.#reported.add(owner);
    this.#events.leavesOut(owner, true);
  }

  /** Keys of deleted objects stay until they are met: no more than there are others. */
  #note(owner: string, key: string): void {
    if (this.#keys.size === 0) return;
    const keys = this.#keys.get(owner) ?? [];
    if (keys.length > 2 * this.#countOf(owner) + 16) this.#keys.delete(owner);
    else this.#keys.set(owner, keys);
    keys.push(key);
  }

  #countOf(owner: string): number {
    return this.#counts.get(owner) ?? 0;
  }

  #count(owner: string, step: number): void {
    const before = this.#countOf(owner);
    const count = before + step;
    const peers = this.#owners.get(before);
    peers?.delete(owner);
    if (peers?.size === 0) this.#owners.delete(before);
    if (count === 0) {
      this.#counts.delete(owner);
      this.#keys.delete(owner);
    } else {
      this.#counts.set(owner, count);
      const others = this.#owners.get(count);
      if (others === undefined) this.#owners.set(count, new Set([owner]));
      else others.add(owner);
    }
    this.#size += step;
    this.#largest = Math.max(this.#largest, count);
    while (this.#largest > 0 && !this.#owners.has(this.#largest)) this.#largest--;
  }
}
