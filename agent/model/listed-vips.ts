import type { Address } from "../../api/address.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { SliceFact } from "./facts.ts";

/**
 * Which relevant VIPs, usually few, are also endpoint addresses in a slice of the import's own namespace: a slice of another
 * namespace must not disable a VIP. A new VIP costs one scan of its namespace's endpoints.
 */
export class ListedVips {
  readonly #isRelevant: (vip: Address) => boolean;
  /** Number of endpoints with the address of each VIP, by namespace and address. */
  readonly #counts = new Map<string, number>();
  /** VIPs not counted yet. */
  readonly #new = new Set<string>();

  /** `isRelevant`: for which VIPs it matters that they are endpoint addresses. */
  constructor(isRelevant: (vip: Address) => boolean) {
    this.#isRelevant = isRelevant;
  }

  /** Starts counting VIPs of an import. */
  watch(key: ObjectKey, vips: readonly Address[]): void {
    for (const vip of vips) {
      const name = placeOf(key, vip.text);
      if (!this.#counts.has(name) && this.#isRelevant(vip)) this.#new.add(name);
    }
  }

  /** Stops counting a VIP of an import. */
  unwatch(key: ObjectKey, vip: string): void {
    const name = placeOf(key, vip);
    this.#counts.delete(name);
    this.#new.delete(name);
  }

  /** A slice was added or removed. Returns the VIPs for which that changed whether any slice of its namespace lists them. */
  change({ key, endpoints }: SliceFact, by: 1 | -1): string[] {
    if (this.#counts.size === 0) return [];
    const changed: string[] = [];
    for (const { address } of endpoints) {
      const name = placeOf(key, address);
      const before = this.#counts.get(name);
      if (before === undefined) continue;
      this.#counts.set(name, before + by);
      if (before === 0 || before + by === 0) changed.push(address);
    }
    return changed;
  }

  /** Those of these VIPs of an import that one of `slices`, all that exist, lists. */
  among(key: ObjectKey, vips: readonly Address[], slices: Iterable<SliceFact>): Set<string> {
    if (this.#new.size > 0) this.#countNew(slices);
    const listed = vips.filter(({ text }) => (this.#counts.get(placeOf(key, text)) ?? 0) > 0);
    return new Set(listed.map(({ text }) => text));
  }

  #countNew(slices: Iterable<SliceFact>): void {
    for (const name of this.#new) this.#counts.set(name, 0);
    const namespaces = new Set([...this.#new].map((name) => name.slice(0, name.indexOf(" "))));
    for (const { key, endpoints } of slices) {
      if (!namespaces.has(namesOf(key).namespace)) continue;
      for (const { address } of endpoints) {
        const name = placeOf(key, address);
        if (this.#new.has(name)) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
      }
    }
    this.#new.clear();
  }
}

function placeOf(key: ObjectKey, address: string): string {
  return `${namesOf(key).namespace} ${address}`;
}
