import { isAddress, parseAddress } from "../../api/address.ts";
import { contains } from "../../api/cidr.ts";
import type { NodeFact } from "../model/facts.ts";
import type { AgentConfig } from "./config.ts";
import { type Usage, usage } from "./usage.ts";

/**
 * What this node is, from what the operator said and from `addresses`: those of the node's interfaces and of
 * the API server. What is no address that an object could name (zoned, for one) is left out. Refused if the
 * ClusterSet CIDR holds one of them: the guard would cut the node off from itself, or from its cluster. PURE.
 */
export function nodeFact(config: AgentConfig, addresses: Iterable<string>): NodeFact | Usage {
  const reserved = new Set<string>();
  for (const text of addresses) {
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
  return {
    name: config.nodeName,
    ...(config.cluster !== undefined && { cluster: config.cluster }),
    ...(config.region !== undefined && { region: config.region }),
    ...(config.zone !== undefined && { zone: config.zone }),
    clusterRegions: config.clusterRegions,
    clusterSetCidrs: config.clusterSetCidrs,
    explicitVipCidrs: config.explicitVipCidrs,
    podCidrs: config.podCidrs,
    serviceCidrs: config.serviceCidrs,
    reservedAddresses: reserved,
  };
}
