import type { Address } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { VipDispute } from "../../api/vip-holders.ts";
import type { VipPool } from "../allocate/pool.ts";
import { type VipRefusal, vipRefusal } from "../allocate/vips.ts";

/** Why connections to a listed VIP do not reach the import. */
export type VipFault = VipDispute | VipRefusal;

/** The VIPs of an import that do not work, as `Address.text`. */
export type VipFaults = ReadonlyMap<string, VipFault>;

/** What decides whether VIPs work. */
export interface VipRules {
  readonly pool: VipPool;
  /** Ranges besides those of the pool in which agents accept VIPs. */
  readonly explicitVipCidrs: readonly Cidr[];
  /** Why a VIP (`Address.text`) is not this import's; undefined if it is, or can be. */
  readonly dispute: (vip: string) => VipDispute | undefined;
}

/** The VIPs that do not work. As in agents, the refusal comes first: it does not depend on other imports. */
export function vipFaults(
  vips: readonly Address[],
  { pool, explicitVipCidrs, dispute }: VipRules,
): VipFaults {
  const faults = vips.flatMap((vip) => {
    const fault = vipRefusal(vip, pool.ranges, explicitVipCidrs) ?? dispute(vip.text);
    return fault === undefined ? [] : [[vip.text, fault] as const];
  });
  return new Map(faults);
}
