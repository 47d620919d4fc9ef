import type { Address } from "../../api/address.ts";
import { classOf } from "../../api/address-class.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import type { Reason } from "../../api/reasons.ts";
import type { VipHolder } from "../../api/vip-holders.ts";
import type { NodeFact } from "../model/facts.ts";
import type { PlannedVip } from "./import-plan.ts";

/** Decides about one VIP. An explicit VIP must be allowed, and not be an address that the node or its cluster needs. */
export function planVip(
  vip: Address,
  heldBy: ReadonlyMap<string, VipHolder>,
  node: NodeFact,
  listed?: ReadonlySet<string>,
): PlannedVip {
  const reason = rejection(vip, node);
  if (reason !== undefined) return { address: vip.text, reason };
  if (listed?.has(vip.text)) return { address: vip.text, reason: "vip-in-use" };
  const holder = heldBy.get(vip.text);
  if (holder === "contested") return { address: vip.text, reason: "vip-contested" };
  if (holder !== undefined) return { address: vip.text, reason: "vip-conflict", heldBy: holder };
  return { address: vip.text, reason: "programmed" };
}

function rejection(vip: Address, node: NodeFact): Reason | undefined {
  if (!node.clusterSetCidrs.some((cidr) => cidr.family === vip.family)) return "family-off";
  if (node.reservedAddresses.has(vip.text) || classOf(vip) !== undefined) return "vip-reserved";
  if (node.clusterSetCidrs.some((cidr) => contains(cidr, vip))) return undefined;
  const isIn = (ranges: readonly Cidr[]) => ranges.some((cidr) => contains(cidr, vip));
  const { podCidrs, nodePodCidrs, serviceCidrs, subnets, network } = node;
  if (network.addresses.has(vip.text)) return "vip-reserved";
  if ([podCidrs, nodePodCidrs, serviceCidrs, subnets, network.ranges].some(isIn)) {
    return "vip-reserved";
  }
  // A range of all addresses says nothing.
  const isOfPeer = (ranges: readonly Cidr[]) => isIn(ranges.filter(({ bits }) => bits > 0));
  if ([...node.endpointRanges.values()].some(isOfPeer)) return "vip-reserved";
  return isIn(node.explicitVipCidrs) ? undefined : "vip-not-allowed";
}
