import { isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, cidrOf, contains, overlap } from "../../api/cidr.ts";
import { clusterOfProperty, parseEndpointRanges } from "../../api/endpoint-ranges.ts";
import { isOwnProperty, PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { type Usage, usage } from "../../common/config/usage.ts";
import type { ClusterNetwork, NodeFact, NodeObservation } from "../model/facts.ts";
import type { AgentConfig } from "./config.ts";

/** The observation before any source has listed. */
export const NOT_OBSERVED: NodeObservation = { properties: new Map() };
/** Prefix lengths of an interface's address that is no part of a subnet. */
const SINGLE: readonly string[] = ["32", "128"];
const NO_NETWORK: ClusterNetwork = { ranges: [], addresses: new Set() };

/**
 * The facts of this node; flags take precedence. `addresses` are those of the API server, and reserved like the node's own.
 * Returns a usage error if the ClusterSet CIDR contains one of them or pods of this node; but an interface's single address there (a `/32`) is a VIP that somebody
 * has put on the node, such as a load balancer's daemon for a Service with that `loadBalancerIP`: no user may stop agents with it. PURE.
 */
export function nodeFact(
  config: AgentConfig,
  addresses: Iterable<string>,
  observed: NodeObservation = NOT_OBSERVED,
): NodeFact | Usage {
  const { object, properties, network } = observed;
  const reserved = new Set<string>();
  const interfaces = (observed.addresses ?? []).map((text) => text.split("/"));
  const named = [...addresses, ...(object?.addresses ?? [])].map((text) => [text]);
  for (const [text = "", bits = ""] of [...interfaces, ...named]) {
    const address = parseAddress(text);
    if (!isAddress(address)) continue;
    const range = config.clusterSetCidrs.find((cidr) => contains(cidr, address));
    if (range !== undefined && SINGLE.includes(bits)) continue;
    if (range !== undefined) {
      return usage({
        where: "--clusterset-cidr",
        value: range.text,
        expected: `contains ${address.text}, an address of this node or of its API server`,
      });
    }
    reserved.add(address.text);
  }
  for (const pods of object?.podCidrs ?? []) {
    const range = config.clusterSetCidrs.find((cidr) => overlap(cidr, pods));
    if (range === undefined) continue;
    const expected = `overlaps ${pods.text}, the pod range of this node`;
    return usage({ where: "--clusterset-cidr", value: range.text, expected });
  }
  const cluster = config.cluster ?? properties.get(PROPERTY_CLUSTER_ID);
  const byFlag = cluster === undefined ? undefined : config.clusterRegions.get(cluster);
  const region = config.region ?? byFlag ?? object?.region;
  const zone = config.zone ?? object?.zone;
  return {
    name: config.nodeName,
    ...(cluster !== undefined && { cluster }),
    ...(region !== undefined && { region }),
    ...(zone !== undefined && { zone }),
    clusterRegions: config.clusterRegions,
    ...separated(properties),
    health: config.health,
    clusterSetCidrs: config.clusterSetCidrs,
    explicitVipCidrs: config.explicitVipCidrs,
    podCidrs: config.podCidrs,
    nodePodCidrs: object?.podCidrs ?? [],
    serviceCidrs: config.serviceCidrs,
    subnets: interfaces.flatMap(([text = "", bits = ""]) => {
      const address = parseAddress(text);
      return isAddress(address) && bits !== "" ? [cidrOf(address, Number(bits))] : [];
    }),
    network: network ?? NO_NETWORK,
    reservedAddresses: reserved,
  };
}

/** The cluster's properties, and the ranges of other clusters' endpoints. What else the controller writes is left out. */
function separated(
  all: ReadonlyMap<string, string>,
): Pick<NodeFact, "endpointRanges" | "properties"> {
  const endpointRanges = new Map<string, readonly Cidr[]>();
  const properties = new Map<string, string>();
  for (const [name, value] of all) {
    const cluster = clusterOfProperty(name);
    const ranges = cluster === undefined ? undefined : parseEndpointRanges(value);
    if (isOwnProperty(name)) properties.set(name, value);
    else if (cluster !== undefined && ranges !== undefined) endpointRanges.set(cluster, ranges);
  }
  return { endpointRanges, properties };
}
