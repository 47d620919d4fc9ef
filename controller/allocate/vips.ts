import { type Address, type Family, isAddress, parseAddress } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import { allocate } from "./allocate.ts";
import type { VipPool } from "./pool.ts";

/** Limit of `spec.ips` in the CRD. */
const MOST_IPS = 2;

/** Why an import has no VIP of a family. */
export type VipLack = Extract<Reason, "range-exhausted" | "range-missing">;

/** The VIPs of an import. */
export interface Vips {
  /** In the order of the requested families; other explicit ones last. */
  readonly vips: readonly Address[];
  readonly lacking: ReadonlyMap<Family, VipLack>;
}

/**
 * One VIP for each of `families`. The first address of a family in `ips` stays, even outside the ranges: a VIP is
 * constant for the lifetime of the import (KEP-1645). All `explicit` addresses, which a user wrote, stay; none is
 * added where the CRD's limit leaves no room.
 */
export function vipsOf(
  key: ObjectKey,
  ips: readonly string[],
  families: readonly Family[],
  pool: VipPool,
  explicit: readonly string[] = [],
): Vips {
  const kept = addresses([...explicit, ...ips]);
  const vips: Address[] = [];
  const lacking = new Map<Family, VipLack>();
  for (const family of families) {
    const vip = kept.find((one) => one.family === family) ?? newVip(key, family, pool);
    if (typeof vip === "string") lacking.set(family, vip);
    else vips.push(vip);
  }
  return { vips: withExplicit(vips, addresses(explicit)), lacking };
}

function withExplicit(vips: readonly Address[], explicit: readonly Address[]): Address[] {
  if (explicit.length === 0) return [...vips];
  const written = new Set(explicit.map(({ text }) => text));
  const fits = new Set([...written, ...vips.map(({ text }) => text)]).size <= MOST_IPS;
  const first = fits ? vips : vips.filter(({ text }) => written.has(text));
  for (const { text } of first) written.delete(text);
  return [...first, ...explicit.filter(({ text }) => written.has(text))];
}

/** The valid addresses, without duplicates. */
function addresses(texts: readonly string[]): Address[] {
  const parsed = texts.map(parseAddress).filter(isAddress);
  return [...new Map(parsed.map((address) => [address.text, address])).values()];
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
