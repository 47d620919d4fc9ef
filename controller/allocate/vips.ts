import { type Address, type Family, isAddress, parseAddress } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import { allocate } from "./allocate.ts";
import type { VipPool } from "./pool.ts";

/** `spec.ips` of a ServiceImport holds no more (its CRD). */
const MOST_IPS = 2;

/** Why a family of an import has no VIP. */
export type VipLack = Extract<Reason, "range-exhausted" | "range-missing">;

/** The VIPs that an import should have. */
export interface Vips {
  /** In the order of the families that were asked for; one each at most. */
  readonly vips: readonly Address[];
  readonly lacking: ReadonlyMap<Family, VipLack>;
}

/**
 * One VIP for each of `families`, in their order. What the import has in `ips` stays, the first of a family, even
 * outside the ranges: a VIP is constant for the import's life (KEP-1645). A family that lacks one is given one.
 */
export function vipsOf(
  key: ObjectKey,
  ips: readonly string[],
  families: readonly Family[],
  pool: VipPool,
): Vips {
  const kept = ips.map(parseAddress).filter(isAddress);
  const vips: Address[] = [];
  const lacking = new Map<Family, VipLack>();
  for (const family of families) {
    const vip = kept.find((one) => one.family === family) ?? newVip(key, family, pool);
    if (typeof vip === "string") lacking.set(family, vip);
    else vips.push(vip);
  }
  return { vips, lacking };
}

/**
 * VIPs of an import that was there before its name was exported: as `vipsOf`, and all that its author wrote stays,
 * of other families and a second of one, too. Where a new VIP would be one too many for the API, it is not given.
 */
export function adoptedVips(
  key: ObjectKey,
  ips: readonly string[],
  families: readonly Family[],
  pool: VipPool,
): Vips {
  const explicit = new Map(
    ips
      .map(parseAddress)
      .filter(isAddress)
      .map((ip) => [ip.text, ip]),
  );
  const { vips, lacking } = vipsOf(key, ips, families, pool);
  const room = MOST_IPS - explicit.size;
  const added = vips.filter(({ text }) => !explicit.has(text));
  const kept = vips.filter((vip) => added.length <= room || explicit.has(vip.text));
  for (const vip of kept) explicit.delete(vip.text);
  return { vips: [...kept, ...explicit.values()], lacking };
}

function newVip(key: ObjectKey, family: Family, pool: VipPool): Address | VipLack {
  const ranges = pool.ranges.filter((range) => range.family === family);
  if (ranges.length === 0) return "range-missing";
  for (const range of ranges) {
    const vip = allocate(key, family, range, pool.taken, pool.reserved);
    if (vip !== "exhausted") return vip;
  }
  return "range-exhausted";
}
