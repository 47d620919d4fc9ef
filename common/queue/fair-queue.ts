/** A waiting key. */
export interface Waiting<Key> {
  readonly key: Key;
  readonly source: string;
  /** When it was added first. */
  readonly since: number;
}

/**
 * Waiting keys, each once, in a queue for each source. Sources take turns, and every second turn is that of the source
 * `""`, so that one with many keys delays the others by a turn only. A key that several sources add is taken at the first.
 */
export class FairQueue<Key> {
  readonly #since = new Map<Key, number>();
  /** Keys by source; the first source is next. */
  readonly #queues = new Map<string, Set<Key>>();
  #wasFirst = false;

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
    const queue = this.#queues.get(source);
    if (queue === undefined) this.#queues.set(source, new Set([key]));
    else queue.add(key);
  }

  /** Removes and returns the next key that can be taken; undefined if there is none. */
  take(canTake: (key: Key) => boolean): Waiting<Key> | undefined {
    for (const source of this.#turns()) {
      for (const key of this.#queues.get(source) ?? []) {
        if (!canTake(key)) continue;
        const since = this.#since.get(key) ?? 0;
        this.#wasFirst = source === "";
        this.#moveBack(source);
        this.delete(key);
        return { key, source, since };
      }
    }
    return undefined;
  }

  delete(key: Key): void {
    if (!this.#since.delete(key)) return;
    for (const [source, queue] of this.#queues) {
      queue.delete(key);
      if (queue.size === 0) this.#queues.delete(source);
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

  #moveBack(source: string): void {
    const queue = this.#queues.get(source);
    this.#queues.delete(source);
    if (queue !== undefined) this.#queues.set(source, queue);
  }
}
