import { isAddress, parseAddress } from "../../api/address.ts";
import { contains, overlap } from "../../api/cidr.ts";
import { PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { type Usage, usage } from "../../common/config/usage.ts";
import type { NodeFact, NodeSight } from "../model/facts.ts";
import type { AgentConfig } from "./config.ts";

/** What is seen of a node before anyone was asked, and where nobody is. */
export const UNSEEN: NodeSight = { properties: new Map() };

/**
 * What this node is: what the operator said, else what is seen of its Node object and of its cluster's
 * properties. `addresses` are those of the API server. They and the node's own are reserved; what is no
 * address that an object could name (zoned, for one) is left out. Refused if the ClusterSet CIDR holds one of them, or
 * pods of this node: the guard would cut the node off from itself, or from its cluster. PURE.
 */
export function nodeFact(
  config: AgentConfig,
  addresses: Iterable<string>,
  sight: NodeSight = UNSEEN,
): NodeFact | Usage {
  const { object, properties } = sight;
  const reserved = new Set<string>();
  for (const text of [...addresses, ...(sight.addresses ?? []), ...(object?.addresses ?? [])]) {
    const address = parseAddress(text);
    if (!isAddress(address)) continue;
    const range = config.clusterSetCidrs.find((cidr) => contains(cidr, address));
    if (range !== undefined) {
      return usage({
        where: "--clusterset-cidr",
        value: range.text,
        expected: `holds ${address.text}, an address of this node or of its API server`,
      });
    }
    reserved.add(address.text);
  }
  for (const pods of object?.podCidrs ?? []) {
    const range = config.clusterSetCidrs.find((cidr) => overlap(cidr, pods));
    if (range === undefined) continue;
    const expected = `overlaps ${pods.text}, the range of this node's pods`;
    return usage({ where: "--clusterset-cidr", value: range.text, expected });
  }
  const cluster = config.cluster ?? properties.get(PROPERTY_CLUSTER_ID);
  const told = cluster === undefined ? undefined : config.clusterRegions.get(cluster);
  const region = config.region ?? told ?? object?.region;
  const zone = config.zone ?? object?.zone;
  return {
    name: config.nodeName,
    ...(cluster !== undefined && { cluster }),
    ...(region !== undefined && { region }),
    ...(zone !== undefined && { zone }),
    clusterRegions: config.clusterRegions,
    properties,
    clusterSetCidrs: config.clusterSetCidrs,
    explicitVipCidrs: config.explicitVipCidrs,
    podCidrs: config.podCidrs,
    nodePodCidrs: object?.podCidrs ?? [],
    serviceCidrs: config.serviceCidrs,
    reservedAddresses: reserved,
  };
}
