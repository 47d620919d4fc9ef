/** What `ObjectShares` report. */
export interface ShareEvents {
  /** An object lost its place to one of an owner that has fewer. */
  readonly evicted: (key: string) => void;
  /** Objects of an owner are left out; false: none are any more. */
  readonly leavesOut: (owner: string, isTrue: boolean) => void;
}

/**
 * Shares a number of objects among owners, such as namespaces. An owner gets at most half. When all places are taken, an owner that has fewer than another one
 * takes places of the one that has the most. So in the end the shares are max-min fair, in any order of arrival, for the memory of a number for each owner.
 */
export class ObjectShares {
  readonly #most: number;
  readonly #mostOfOwner: number;
  readonly #events: ShareEvents;
  readonly #keysOf: (owner: string) => string[];
  /** Objects by owner. */
  readonly #counts = new Map<string, number>();
  #size = 0;
  /** Owners of which an object was left out, since the list began and before. */
  #leftOut = new Set<string>();
  #reported = new Set<string>();
  /** Keys of owners that have lost places, in the order in which they became known. */
  readonly #keys = new Map<string, string[]>();
  /** The owner with the most objects, or nearly the most, and the most that others have. */
  #largest = { owner: "", next: 0 };

  /** `keysOf`: the objects of an owner; the last one loses its place first. */
  constructor(most: number, events: ShareEvents, keysOf: (owner: string) => string[]) {
    this.#most = most;
    this.#mostOfOwner = Math.ceil(most / 2);
    this.#events = events;
    this.#keysOf = keysOf;
  }

  /** True if there is room for an object that was left out. */
  get isRoom(): boolean {
    return this.#leftOut.values().some((owner) => {
      return this.#size < this.#most && this.#countOf(owner) < this.#mostOfOwner;
    });
  }

  /** A list begins: nothing has a place. */
  begin(): void {
    this.#counts.clear();
    this.#size = 0;
    this.#leftOut = new Set();
    this.#keys.clear();
    this.#largest = { owner: "", next: 0 };
  }

  /** The list is complete. */
  complete(): void {
    for (const owner of this.#reported.difference(this.#leftOut)) {
      this.#reported.delete(owner);
      this.#events.leavesOut(owner, false);
    }
  }

  /** Takes a place for an object. False if the object is left out. */
  take(owner: string): boolean {
    const count = this.#countOf(owner);
    const isTaken =
      count < this.#mostOfOwner && (this.#size < this.#most || this.#evict(count + 1));
    if (isTaken) this.#count(owner, 1);
    else this.#leaveOut(owner);
    return isTaken;
  }

  /** The place of an object is free. */
  give(owner: string): void {
    this.#count(owner, -1);
  }

  /** Leaves out an object of the owner with the most, if it has more than `count`. */
  #evict(count: number): boolean {
    while (this.#size >= this.#most) {
      const owner = this.#findLargest();
      if (this.#countOf(owner) <= count) return false;
      const known = this.#keys.get(owner) ?? [];
      const keys = known.length > 0 ? known : this.#keysOf(owner);
      this.#keys.set(owner, keys);
      const key = keys.pop();
      if (key === undefined) return false;
      this.#leaveOut(owner);
      // The handler gives the place back, unless the object was deleted before.
      this.#events.evicted(key);
    }
    return true;
  }

  /** The last result stays while it is nearly right: two large owners would otherwise cost a search for each object. */
  #findLargest(): string {
    const { owner, next } = this.#largest;
    if (owner !== "" && this.#countOf(owner) >= next - this.#most / 1000) return owner;
    const largest = { owner: "", most: 0, next: 0 };
    for (const [name, count] of this.#counts) {
      largest.next = Math.max(largest.next, Math.min(count, largest.most));
      if (count > largest.most) Object.assign(largest, { owner: name, most: count });
    }
    this.#largest = largest;
    return largest.owner;
  }

  #leaveOut(owner: string): void {
    this.#leftOut.add(owner);
    if (this.#reported.has(owner)) return;
    this.#reported.add(owner);
    this.#events.leavesOut(owner, true);
  }

  #countOf(owner: string): number {
    return this.#counts.get(owner) ?? 0;
  }

  #count(owner: string, step: number): void {
    const count = this.#countOf(owner) + step;
    if (count === 0) this.#counts.delete(owner);
    else this.#counts.set(owner, count);
    this.#size += step;
    const largest = this.#largest;
    if (owner !== largest.owner) largest.next = Math.max(largest.next, count);
  }
}
