/** A waiting key. */
export interface Waiting<Key> {
  readonly key: Key;
  readonly source: string;
  /** When it was added first. */
  readonly since: number;
}

/**
 * Waiting keys, each once, in a queue for each source. Sources take turns, and every second turn is that of the source
 * `""`, so that one with many keys delays the others by a turn only. So do the owners of a source's keys, such as namespaces. A key that several sources add is
 * taken at the first.
 */
export class FairQueue<Key> {
  readonly #ownerOf: (key: Key) => string;
  readonly #since = new Map<Key, number>();
  /** Keys by source and owner; the first source is next, and of each source the first owner. */
  readonly #queues = new Map<string, Map<string, Set<Key>>>();
  #wasFirst = false;

  /** `ownerOf`: by default, all keys have the same owner. */
  constructor(ownerOf: (key: Key) => string = () => "") {
    this.#ownerOf = ownerOf;
  }

  /** Number of keys. */
  get size(): number {
    return this.#since.size;
  }

  /** When the oldest key was added; undefined if there is none. */
  get oldest(): number | undefined {
    let oldest: number | undefined;
    for (const since of this.#since.values()) oldest = Math.min(oldest ?? since, since);
    return oldest;
  }

  has(key: Key): boolean {
    return this.#since.has(key);
  }

  /** `since`: when the key was added first, which may be long ago. */
  add(key: Key, source: string, since: number): void {
    if (!this.#since.has(key)) this.#since.set(key, since);
    const owner = this.#ownerOf(key);
    const owners = this.#queues.get(source) ?? new Map<string, Set<Key>>();
    this.#queues.set(source, owners.set(owner, (owners.get(owner) ?? new Set()).add(key)));
  }

  /** Removes and returns the next key that can be taken; undefined if there is none. `mayBegin`: the same for all keys of an owner. */
  take(
    canTake: (key: Key) => boolean,
    mayBegin: (key: Key) => boolean = () => true,
  ): Waiting<Key> | undefined {
    for (const source of this.#turns()) {
      const owners = this.#queues.get(source) ?? new Map<string, Set<Key>>();
      for (const [owner, keys] of owners) {
        const [first] = keys;
        if (first === undefined || !mayBegin(first)) continue;
        const key = keys.values().find(canTake);
        if (key === undefined) continue;
        const since = this.#since.get(key) ?? 0;
        this.#wasFirst = source === "";
        moveBack(this.#queues, source);
        moveBack(owners, owner);
        this.delete(key);
        return { key, source, since };
      }
    }
    return undefined;
  }

  delete(key: Key): void {
    if (!this.#since.delete(key)) return;
    const owner = this.#ownerOf(key);
    for (const [source, owners] of this.#queues) {
      const keys = owners.get(owner);
      keys?.delete(key);
      if (keys?.size === 0) owners.delete(owner);
      if (owners.size === 0) this.#queues.delete(source);
    }
  }

  clear(): void {
    this.#since.clear();
    this.#queues.clear();
  }

  #turns(): string[] {
    const others = [...this.#queues.keys()].filter((source) => source !== "");
    return this.#wasFirst ? [...others, ""] : ["", ...others];
  }
}

/** The next turn of this name is after those of all others. */
function moveBack<Value>(turns: Map<string, Value>, name: string): void {
  const value = turns.get(name);
  turns.delete(name);
  if (value !== undefined) turns.set(name, value);
}
