import type { Address } from "../../api/address.ts";
import type { SliceFact } from "./facts.ts";

/**
 * Which of some VIPs a slice lists as an endpoint's address, too. Only VIPs that may be both are counted, few as a rule: new
 * ones cost a walk through all endpoints, all together, and a slice costs a walk through its own.
 */
export class ListedVips {
  readonly #concerns: (vip: Address) => boolean;
  /** How many endpoints have the address of each. */
  readonly #counts = new Map<string, number>();
  /** Those that are not counted yet. */
  readonly #new = new Set<string>();

  /** `concerns`: which VIPs may be an endpoint's address, and it matters. */
  constructor(concerns: (vip: Address) => boolean) {
    this.#concerns = concerns;
  }

  /** Has VIPs counted from now on. */
  watch(vips: readonly Address[]): void {
    for (const vip of vips) {
      if (!this.#counts.has(vip.text) && this.#concerns(vip)) this.#new.add(vip.text);
    }
  }

  /** Has a VIP forgotten. */
  unwatch(vip: string): void {
    this.#counts.delete(vip);
    this.#new.delete(vip);
  }

  /** A slice has come, or gone. Returns the VIPs of which that changed whether any slice lists them. */
  change({ endpoints }: SliceFact, by: 1 | -1): string[] {
    if (this.#counts.size === 0) return [];
    const changed: string[] = [];
    for (const { address } of endpoints) {
      const before = this.#counts.get(address);
      if (before === undefined) continue;
      this.#counts.set(address, before + by);
      if (before === 0 || before + by === 0) changed.push(address);
    }
    return changed;
  }

  /** Those of these VIPs that one of all `slices` lists. */
  among(vips: readonly Address[], slices: Iterable<SliceFact>): Set<string> {
    if (this.#new.size > 0) this.#countNew(slices);
    const listed = vips.filter(({ text }) => (this.#counts.get(text) ?? 0) > 0);
    return new Set(listed.map(({ text }) => text));
  }

  #countNew(slices: Iterable<SliceFact>): void {
    for (const vip of this.#new) this.#counts.set(vip, 0);
    for (const { endpoints } of slices) {
      for (const { address } of endpoints) {
        if (this.#new.has(address)) this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
      }
    }
    this.#new.clear();
  }
}
