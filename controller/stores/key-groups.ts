import type { ObjectKey } from "../../api/names.ts";

/** Keys of objects by group. */
export class KeyGroups {
  readonly #groups = new Map<ObjectKey, Set<string>>();

  /** All groups that have a key. */
  groups(): Iterable<ObjectKey> {
    return this.#groups.keys();
  }

  /** The keys of all groups. */
  *keys(): Iterable<string> {
    for (const keys of this.#groups.values()) yield* keys;
  }

  keysOf(group: ObjectKey): ReadonlySet<string> {
    return this.#groups.get(group) ?? NONE;
  }

  add(group: ObjectKey | undefined, key: string): void {
    if (group === undefined) return;
    const keys = this.#groups.get(group) ?? new Set();
    this.#groups.set(group, keys.add(key));
  }

  remove(group: ObjectKey | undefined, key: string): void {
    if (group === undefined) return;
    const keys = this.#groups.get(group);
    keys?.delete(key);
    if (keys?.size === 0) this.#groups.delete(group);
  }
}

const NONE: ReadonlySet<string> = new Set();
