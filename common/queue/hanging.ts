import type { Clock } from "../clock.ts";

/** Milliseconds of a rejected attempt that hung, as in a webhook that does not answer. */
const HANGS_MS = 2_000;
/** Milliseconds for which a group counts as hanging after such an attempt: longer than keys wait between two. */
const LASTS_MS = 90_000;
/** Workers for the keys of one hanging group, and of all of them: those that hung before, and the others. */
const MOST = { group: 2, all: 4 } as const;

/**
 * Limits the workers that attempts occupy which hang until they are rejected. Keys of a namespace with such a webhook occupy two; those of the same
 * namespace whose own last attempt did not hang, or that changed since it began, have two others, because it may answer for them.
 */
export class Hanging<Key> {
  readonly #clock: Pick<Clock, "now">;
  readonly #groupOf: (key: Key) => string;
  /** When an attempt of a group last hung. */
  readonly #groups = new Map<string, number>();
  /** Keys whose last attempt hung, and that have not changed since it began. */
  readonly #keys = new Set<Key>();

  constructor(clock: Pick<Clock, "now">, groupOf: (key: Key) => string) {
    this.#clock = clock;
    this.#groupOf = groupOf;
  }

  /** The class of a key, of which a limited number is worked on; undefined if its group does not hang. */
  classOf(key: Key): string | undefined {
    const group = this.#groupOf(key);
    return this.#hangs(group) ? `${this.#sideOf(key)} ${group}` : undefined;
  }

  /** True if a key has to wait until one of `working` is done. */
  isFull(key: Key, working: Iterable<Key>): boolean {
    const own = this.classOf(key);
    if (own === undefined) return false;
    const side = this.#sideOf(key);
    let group = 0;
    let all = 0;
    for (const other of working) {
      const theirs = this.classOf(other);
      if (theirs === own) group++;
      if (theirs !== undefined && this.#sideOf(other) === side) all++;
    }
    return group >= MOST.group || all >= MOST.all;
  }

  /** A key that is not worked on has changed: what it needs now may not hang. Returns true if its class is another one now. */
  changed(key: Key): boolean {
    return this.#keys.delete(key);
  }

  /** An attempt has ended, after `took` milliseconds. `hasChanged`: the key has changed meanwhile. */
  ended(key: Key, isRejected: boolean, took: number, hasChanged: boolean): void {
    this.#keys.delete(key);
    if (!isRejected || took < HANGS_MS) return;
    if (!hasChanged) this.#keys.add(key);
    for (const group of this.#groups.keys()) if (!this.#hangs(group)) this.#groups.delete(group);
    this.#groups.set(this.#groupOf(key), this.#clock.now());
  }

  #hangs(group: string): boolean {
    return this.#clock.now() - (this.#groups.get(group) ?? Number.NEGATIVE_INFINITY) < LASTS_MS;
  }

  #sideOf(key: Key): "again" | "first" {
    return this.#keys.has(key) ? "again" : "first";
  }
}
