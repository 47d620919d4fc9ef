import type { Address } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";

interface Claim {
  readonly key: ObjectKey;
  readonly created: number;
}

/**
 * Which import holds a VIP that several claim: the one that was created first, then the first by name. An
 * import without a creation time counts as the youngest, so that a copied manifest cannot take a VIP over.
 */
export class VipClaims {
  readonly #claims = new Map<string, Claim[]>();

  /** Adds a claim. Returns the imports whose hold on a VIP this changed, `key` itself left out. */
  claim(key: ObjectKey, created: number, vips: readonly Address[]): ObjectKey[] {
    return this.#change(key, vips, (claims) => [...claims, { key, created }].sort(older));
  }

  /** Takes claims back. Returns the imports whose hold on a VIP this changed, `key` itself left out. */
  release(key: ObjectKey, vips: readonly Address[]): ObjectKey[] {
    return this.#change(key, vips, (claims) => claims.filter((claim) => claim.key !== key));
  }

  /** The import that holds `vip`, if anyone claims it. */
  holder(vip: string): ObjectKey | undefined {
    return this.#claims.get(vip)?.[0]?.key;
  }

  /** All imports that claim `vip`. */
  claimants(vip: string): ObjectKey[] {
    return (this.#claims.get(vip) ?? []).map(({ key }) => key);
  }

  #change(
    key: ObjectKey,
    vips: readonly Address[],
    update: (claims: readonly Claim[]) => Claim[],
  ): ObjectKey[] {
    const affected = new Set<ObjectKey>();
    for (const { text } of vips) {
      const before = this.#claims.get(text) ?? [];
      const after = update(before);
      if (after.length === 0) this.#claims.delete(text);
      else this.#claims.set(text, after);
      // The losers name the holder in their plan, so a new holder concerns all of them.
      if (before[0]?.key === after[0]?.key) continue;
      for (const claim of [...before, ...after]) affected.add(claim.key);
    }
    affected.delete(key);
    return [...affected];
  }
}

function older(a: Claim, b: Claim): number {
  if (a.created !== b.created) return a.created < b.created ? -1 : 1;
  return a.key < b.key ? -1 : 1;
}
