import type { ObjectKey } from "./names.ts";
import type { Reason } from "./reasons.ts";

/** The import that holds a VIP; `contested` if several list it, and nothing shows which was first. */
export type VipHolder = ObjectKey | "contested";

/** Why a VIP that an import lists is not its own. */
export type VipDispute = Extract<Reason, "vip-conflict" | "vip-contested">;

interface Vip {
  /** Imports that list it. */
  readonly claimants: Set<ObjectKey>;
  /** Where the IPAddress of that name belongs. */
  recorded?: ObjectKey;
  /** The import that listed it before all others. */
  first?: ObjectKey;
}

/**
 * Which import holds a VIP that several list: the one that an IPAddress names, else the one that was first. Neither depends on
 * what another import's author can write, so no write takes a VIP from its holder (docs/design/0017-vip-holders.md).
 */
export class VipHolders {
  readonly #vips = new Map<string, Vip>();
  readonly #claims = new Map<ObjectKey, readonly string[]>();
  #isListed = false;

  /** Sets all VIPs that an import lists. Returns the other imports affected by a change of a holder. */
  claim(key: ObjectKey, vips: readonly string[]): ObjectKey[] {
    const before = this.#claims.get(key) ?? [];
    if (vips.length === 0) this.#claims.delete(key);
    else this.#claims.set(key, vips);
    const affected = [...new Set([...before, ...vips])].flatMap((vip) =>
      this.#change(vip, ({ claimants }) => {
        if (vips.includes(vip)) claimants.add(key);
        else claimants.delete(key);
      }),
    );
    return affected.filter((one) => one !== key);
  }

  /** Sets the import that the IPAddress of a VIP names; undefined: there is none. Returns the affected imports. */
  record(vip: string, holder: ObjectKey | undefined): ObjectKey[] {
    return this.#change(vip, (one) => {
      if (holder === undefined) delete one.recorded;
      else one.recorded = holder;
    });
  }

  /** Sets the first import of a contested VIP, from the rules of an earlier run. Returns the affected imports. */
  settle(vip: string, first: ObjectKey): ObjectKey[] {
    return this.#change(vip, (one) => {
      if (one.claimants.has(first)) one.first ??= first;
    });
  }

  /** Everything that exists was listed: an import that lists a VIP alone is the first from now on. */
  listed(): void {
    this.#isListed = true;
    for (const vip of [...this.#vips.keys()]) this.#change(vip, () => undefined);
  }

  /** Undefined if no import lists the VIP, and there is no IPAddress. */
  holder(vip: string): VipHolder | undefined {
    return holderOf(this.#vips.get(vip));
  }

  /** All imports that list a VIP. */
  claimants(vip: string): Iterable<ObjectKey> {
    return this.#vips.get(vip)?.claimants ?? [];
  }

  /** All VIPs without a known holder. */
  contested(): string[] {
    return [...this.#vips].flatMap(([vip, one]) => (holderOf(one) === "contested" ? [vip] : []));
  }

  #change(vip: string, update: (one: Vip) => void): ObjectKey[] {
    const one = this.#vips.get(vip) ?? { claimants: new Set<ObjectKey>() };
    const before = holderOf(one);
    const affected = new Set(one.claimants);
    update(one);
    const { claimants, first, recorded } = one;
    if (first !== undefined && !claimants.has(first)) delete one.first;
    const [only] = claimants;
    if (this.#isListed && claimants.size === 1 && only !== undefined) one.first ??= only;
    if (claimants.size === 0 && recorded === undefined) this.#vips.delete(vip);
    else this.#vips.set(vip, one);
    if (holderOf(one) === before) return [];
    // The plans of all claimants name the holder.
    return [...affected.union(claimants)];
  }
}

function holderOf(vip: Vip | undefined): VipHolder | undefined {
  if (vip === undefined) return undefined;
  const { claimants, first, recorded } = vip;
  const [only] = claimants;
  return recorded ?? first ?? (claimants.size > 1 ? "contested" : only);
}
