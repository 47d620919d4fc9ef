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
  /** In the order of the families that were asked for, one each; explicit ones beside these come last. */
  readonly vips: readonly Address[];
  readonly lacking: ReadonlyMap<Family, VipLack>;
}

/**
 * One VIP for each of `families`, in their order. What the import has in `ips` stays, the first of a family, even
 * outside the ranges: a VIP is constant for the import's life (KEP-1645). A family that lacks one is given one.
 *
 * `explicit` is what a person wrote before the controller came: all of it stays, of other families and a second of
 * one, too. Where a new VIP beside it would be one too many for the API, none is given.
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

/** The addresses among the texts, each once. */
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
