import type { Address } from "../../api/address.ts";
import { classOf } from "../../api/address-class.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import type { Reason } from "../../api/reasons.ts";

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
