import type { Address } from "../../api/address.ts";
import { classOf } from "../../api/address-class.ts";
import { contains } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import type { NodeFact } from "../model/facts.ts";
import type { PlannedVip } from "./import-plan.ts";

/**
 * What becomes of one VIP. A VIP in the ClusterSet CIDR was allocated for this; any other is somebody's
 * wish, and must not capture what a node needs: `ips: [10.96.0.1]` would take over its API traffic. `listed`: see `ImportView`.
 */
export function planVip(
  vip: Address,
  heldBy: ReadonlyMap<string, ObjectKey>,
  node: NodeFact,
  listed?: ReadonlySet<string>,
): PlannedVip {
  const reason = refusal(vip, node);
  if (reason !== undefined) return { address: vip.text, reason };
  if (listed?.has(vip.text)) return { address: vip.text, reason: "vip-in-use" };
  const holder = heldBy.get(vip.text);
  if (holder !== undefined) return { address: vip.text, reason: "vip-conflict", heldBy: holder };
  return { address: vip.text, reason: "programmed" };
}

function refusal(vip: Address, node: NodeFact): Reason | undefined {
  if (!node.clusterSetCidrs.some((cidr) => cidr.family === vip.family)) return "family-off";
  if (node.reservedAddresses.has(vip.text) || classOf(vip) !== undefined) return "vip-reserved";
  if (node.clusterSetCidrs.some((cidr) => contains(cidr, vip))) return undefined;
  const taken = [...node.podCidrs, ...node.nodePodCidrs, ...node.serviceCidrs];
  if (taken.some((cidr) => contains(cidr, vip))) return "vip-reserved";
  const anywhere = node.explicitVipCidrs.length === 0;
  if (anywhere || node.explicitVipCidrs.some((cidr) => contains(cidr, vip))) return undefined;
  return "vip-outside";
}
