import { type Address, type Family, isAddress, parseAddress } from "../../api/address.ts";
import { classOf } from "../../api/address-class.ts";
import { type Cidr, contains, containsAny, ofFamily } from "../../api/cidr.ts";
import { mayTake } from "../../api/fair-budget.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import { allocate } from "./allocate.ts";
import { sizeOf, type VipPool } from "./pool.ts";

/** Limit of `spec.ips` in the CRD. */
const MOST_IPS = 2;

/** Why an import has no VIP of a family, or none in its first range. */
export type VipLack = Extract<Reason, "range-exhausted" | "range-missing" | "range-share">;

/** The VIPs of an import. */
export interface Vips {
  /** In the order of the requested families; other explicit ones last. */
  readonly vips: readonly Address[];
  /** Earlier ones in a ClusterSet CIDR after the first, which agents still serve: clients may have cached them. */
  readonly previous: readonly Address[];
  readonly lacking: ReadonlyMap<Family, VipLack>;
}

/**
 * One VIP for each of `families`. The first address of a family in `ips` stays, even outside the ranges: a VIP is constant for
 * the lifetime of the import (KEP-1645). Only if it is in a range after the first, an operator has requested another one. It then
 * stays, too, if the first range is full. All `explicit` addresses, which a user wrote, stay; none is added where the CRD's limit
 * leaves no room.
 */
export function vipsOf(
  key: ObjectKey,
  ips: readonly string[],
  families: readonly Family[],
  pool: VipPool,
  explicit: readonly string[] = [],
): Vips {
  const written = addresses(explicit);
  const kept = addresses([...explicit, ...ips]);
  const vips: Address[] = [];
  const previous: Address[] = [];
  const lacking = new Map<Family, VipLack>();
  for (const family of families) {
    const own = kept.filter((one) => one.family === family);
    const [first, ...others] = ofFamily(pool.ranges, family);
    const isWritten = (one: Address) => written.some(({ text }) => text === one.text);
    const isFirst = (one: Address) => first !== undefined && contains(first, one);
    const moves = (one: Address) => !isFirst(one) && containsAny(others, one);
    const settled =
      own.find(isWritten) ??
      own.find(isFirst) ??
      own.find((one) => !moves(one)) ??
      newVip(key, family, first, pool, own.length > 0);
    const vip = typeof settled === "string" ? own[0] : settled;
    if (vip !== undefined) vips.push(vip);
    // A VIP that stays because the range is full is reported, too.
    if (typeof settled === "string" && (settled !== "range-missing" || vip === undefined)) {
      lacking.set(family, settled);
    }
    const before = own.find((one) => one !== vip && !isWritten(one) && moves(one));
    if (before !== undefined) previous.push(before);
  }
  return { vips: withExplicit(vips, written), previous, lacking };
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

function newVip(
  key: ObjectKey,
  family: Family,
  range: Cidr | undefined,
  pool: VipPool,
  isMove: boolean,
): Address | VipLack {
  if (range === undefined) return "range-missing";
  const { held, reserved, taken, used } = pool;
  const free = used && sizeOf(range, reserved) - used(family);
  // Counted first: to search a range that is full takes a second, and thousands of imports may wait for one address.
  if (free !== undefined && free <= 0) return "range-exhausted";
  // VIPs are not taken back, so the first namespace must leave some. One that moves to another range keeps its place.
  const own = isMove ? undefined : held?.(namesOf(key).namespace, family);
  if (own !== undefined && free !== undefined && !mayTake(own, free)) return "range-share";
  const vip = allocate(key, family, range, taken, reserved);
  return vip === "exhausted" ? "range-exhausted" : vip;
}

/** Why no agent programs a VIP, whichever import lists it. */
export type VipRefusal = Extract<Reason, "family-off" | "vip-not-allowed" | "vip-reserved">;

/**
 * Why no agent programs a VIP, as its address and the flags tell; undefined if they do not. What a node and its cluster use is
 * not considered: agents read it for themselves (docs/design/0016-explicit-vips.md).
 */
export function vipRefusal(
  vip: Address,
  clusterSetCidrs: readonly Cidr[],
  explicitVipCidrs: readonly Cidr[],
): VipRefusal | undefined {
  if (!clusterSetCidrs.some(({ family }) => family === vip.family)) return "family-off";
  if (classOf(vip) !== undefined) return "vip-reserved";
  const isIn = (ranges: readonly Cidr[]) => ranges.some((range) => contains(range, vip));
  return isIn(clusterSetCidrs) || isIn(explicitVipCidrs) ? undefined : "vip-not-allowed";
}
