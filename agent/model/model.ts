import type { ObjectKey } from "../../api/names.ts";
import type { ImportFact, SliceFact } from "./facts.ts";
import { VipClaims } from "./vip-claims.ts";

/** Everything the plan of one import depends on, besides the node. */
export interface ImportView {
  readonly key: ObjectKey;
  /** Absent if there are slices for an import that does not exist. */
  readonly fact?: ImportFact;
  /** The import's slices, by key. */
  readonly slices: readonly SliceFact[];
  /** By VIP: the other import that holds it. A VIP that is not in here is this import's. */
  readonly heldBy: ReadonlyMap<string, ObjectKey>;
}

/**
 * The facts, indexed by import: a change costs work in proportion to its own import (and to those that claim
 * the same VIP), never to the whole set. Remembers which imports changed, and since when, until they are
 * taken.
 */
export class Model {
  readonly #imports = new Map<ObjectKey, ImportFact>();
  readonly #slices = new Map<ObjectKey, SliceFact>();
  readonly #slicesOf = new Map<ObjectKey, Set<ObjectKey>>();
  readonly #claims = new VipClaims();
  #dirty = new Map<ObjectKey, number>();

  /** Adds or replaces an import. `at`: milliseconds at which the change was learned of. */
  setImport(fact: ImportFact, at: number): void {
    this.removeImport(fact.key, at);
    this.#imports.set(fact.key, fact);
    this.#touch([fact.key], at);
    if (fact.headless) return;
    this.#touch(this.#claims.claim(fact.key, fact.created, fact.vips), at);
  }

  /** Takes an import away; nothing happens if there is none. */
  removeImport(key: ObjectKey, at: number): void {
    const fact = this.#imports.get(key);
    if (fact === undefined) return;
    this.#imports.delete(key);
    this.#touch([key], at);
    if (!fact.headless) this.#touch(this.#claims.release(key, fact.vips), at);
  }

  /** Adds or replaces a slice, which may have moved from one import to another. */
  setSlice(fact: SliceFact, at: number): void {
    this.removeSlice(fact.key, at);
    this.#slices.set(fact.key, fact);
    const siblings = this.#slicesOf.get(fact.importKey) ?? new Set();
    this.#slicesOf.set(fact.importKey, siblings.add(fact.key));
    this.#touch([fact.importKey], at);
  }

  /** Takes a slice away; nothing happens if there is none. */
  removeSlice(key: ObjectKey, at: number): void {
    const fact = this.#slices.get(key);
    if (fact === undefined) return;
    this.#slices.delete(key);
    const siblings = this.#slicesOf.get(fact.importKey);
    siblings?.delete(key);
    if (siblings?.size === 0) this.#slicesOf.delete(fact.importKey);
    this.#touch([fact.importKey], at);
  }

  /** The imports that changed since the last call, with the time of the oldest change of each. */
  takeDirty(): ReadonlyMap<ObjectKey, number> {
    const dirty = this.#dirty;
    this.#dirty = new Map();
    return dirty;
  }

  /** Every key that has a view. */
  *keys(): IterableIterator<ObjectKey> {
    yield* this.#imports.keys();
    for (const key of this.#slicesOf.keys()) if (!this.#imports.has(key)) yield key;
  }

  /** True if there is a slice for an import, whether or not that exists. */
  hasSlices(key: ObjectKey): boolean {
    return this.#slicesOf.has(key);
  }

  /** What is known of one import; undefined if there is neither import nor slice. */
  view(key: ObjectKey): ImportView | undefined {
    const fact = this.#imports.get(key);
    const slices = [...(this.#slicesOf.get(key) ?? [])]
      .sort()
      .map((slice) => this.#slices.get(slice))
      .filter((slice) => slice !== undefined);
    if (fact === undefined)
      return slices.length === 0 ? undefined : { key, slices, heldBy: new Map() };
    const heldBy = new Map<string, ObjectKey>();
    for (const { text } of fact.vips) {
      const holder = this.#claims.holder(text);
      if (holder !== undefined && holder !== key) heldBy.set(text, holder);
    }
    return { key, fact, slices, heldBy };
  }

  #touch(keys: readonly ObjectKey[], at: number): void {
    for (const key of keys) this.#dirty.set(key, Math.min(at, this.#dirty.get(key) ?? at));
  }
}
