import type { Address } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { ImportFact, SliceFact } from "./facts.ts";
import { ListedVips } from "./listed-vips.ts";
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
  /** VIPs that a slice lists as an endpoint's address, of those for which it matters; absent if there are none. */
  readonly listed?: ReadonlySet<string>;
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
  readonly #listed: ListedVips;
  #dirty = new Map<ObjectKey, number>();

  /** `mustBeFree`: whether it matters that no slice lists a VIP as an endpoint's address; it does of none if not said. */
  constructor(mustBeFree: (vip: Address) => boolean = () => false) {
    this.#listed = new ListedVips(mustBeFree);
  }

  /** Adds or replaces an import. `at`: milliseconds at which the change was learned of. */
  setImport(fact: ImportFact, at: number): void {
    const before = this.#take(fact.key, at);
    this.#imports.set(fact.key, fact);
    this.#touch([fact.key], at);
    if (!fact.headless) {
      this.#touch(this.#claims.claim(fact.key, fact.created, fact.vips), at);
      this.#listed.watch(fact.vips);
    }
    this.#unwatch(before);
  }

  /** Takes an import away; nothing happens if there is none. */
  removeImport(key: ObjectKey, at: number): void {
    this.#unwatch(this.#take(key, at));
  }

  /** Adds or replaces a slice, which may have moved from one import to another. */
  setSlice(fact: SliceFact, at: number): void {
    this.removeSlice(fact.key, at);
    this.#slices.set(fact.key, fact);
    const siblings = this.#slicesOf.get(fact.importKey) ?? new Set();
    this.#slicesOf.set(fact.importKey, siblings.add(fact.key));
    this.#touch([fact.importKey], at);
    this.#recount(fact, 1, at);
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
    this.#recount(fact, -1, at);
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
    const listed = this.#listed.among(fact.vips, this.#slices.values());
    return { key, fact, slices, heldBy, ...(listed.size > 0 && { listed }) };
  }

  #take(key: ObjectKey, at: number): ImportFact | undefined {
    const fact = this.#imports.get(key);
    if (fact === undefined) return undefined;
    this.#imports.delete(key);
    this.#touch([key], at);
    if (!fact.headless) this.#touch(this.#claims.release(key, fact.vips), at);
    return fact;
  }

  #unwatch(fact: ImportFact | undefined): void {
    for (const { text } of fact?.vips ?? []) {
      if (this.#claims.holder(text) === undefined) this.#listed.unwatch(text);
    }
  }

  /** A slice that begins or ceases to list a VIP concerns whoever claims that. */
  #recount(fact: SliceFact, by: 1 | -1, at: number): void {
    for (const vip of this.#listed.change(fact, by)) this.#touch(this.#claims.claimants(vip), at);
  }

  #touch(keys: readonly ObjectKey[], at: number): void {
    for (const key of keys) this.#dirty.set(key, Math.min(at, this.#dirty.get(key) ?? at));
  }
}
