import { isAddress, parseAddress } from "../../api/address.ts";
import { contains } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { EndpointCondition, EndpointFact, NodeFact, Port, SliceFact } from "../model/facts.ts";
import { type Ladder, tierIndex } from "./ladder.ts";
import { type Origin, originOf } from "./origin.ts";

/** An endpoint that listens on a port of an import, with all that the choice among them looks at. */
export interface Candidate {
  readonly slice: ObjectKey;
  readonly address: string;
  readonly port: number;
  readonly condition: EndpointCondition;
  readonly origin: Origin;
  /** Index into the ladder: 0 is the nearest. */
  readonly tier: number;
  /** True if it is known to run on this node. */
  readonly onThisNode: boolean;
  /** True if it is known to run in this node's zone. */
  readonly inThisZone: boolean;
  /** True if it may run on this node, known or not. */
  readonly maybeHere: boolean;
}

/** The endpoints of `slices`, all of one family, that listen on `port`, and the slices that do not expose it. */
export function candidatesOf(
  port: Port,
  slices: readonly SliceFact[],
  ladder: Ladder,
  node: NodeFact,
): { candidates: Candidate[]; notExposing: SliceFact[] } {
  const candidates: Candidate[] = [];
  const notExposing: SliceFact[] = [];
  for (const slice of slices) {
    const target = slice.ports.find((p) => p.name === port.name && p.protocol === port.protocol);
    if (target === undefined) {
      notExposing.push(slice);
      continue;
    }
    const origin = originOf(slice, node);
    const tier = tierIndex(origin, ladder);
    for (const endpoint of slice.endpoints) {
      candidates.push({
        slice: slice.key,
        address: endpoint.address,
        port: target.port,
        condition: endpoint.condition,
        origin,
        tier,
        ...place(endpoint, origin, node),
      });
    }
  }
  return { candidates, notExposing };
}

/**
 * Where an endpoint runs, seen from this node. Node names are unique within a cluster only, zones within a
 * region only. A pod of a cluster that is not known may still be ours: then its address decides, and only
 * about masquerading a connection to itself, never about a tier.
 */
function place(endpoint: EndpointFact, origin: Origin, node: NodeFact) {
  const mine = origin.cluster !== undefined && origin.cluster === node.cluster;
  const located = mine && endpoint.nodeName !== undefined;
  const onThisNode = located && endpoint.nodeName === node.name;
  const sameRegion = mine || (origin.region !== undefined && origin.region === node.region);
  const inThisZone = sameRegion && endpoint.zone !== undefined && endpoint.zone === node.zone;
  const canBeMine = mine || origin.cluster === undefined || node.cluster === undefined;
  const maybeHere = located ? onThisNode : canBeMine && isLocalPod(endpoint.address, node);
  return { onThisNode, inThisZone, maybeHere };
}

function isLocalPod(text: string, node: NodeFact): boolean {
  if (node.reservedAddresses.has(text)) return true;
  const address = parseAddress(text);
  if (!isAddress(address)) return false;
  // The Node's own ranges add to those of the cluster, and never replace them: network plugins with an address
  // management of their own (Calico, Cilium) leave spec.podCIDRs as it is and give pods other addresses.
  return [...node.nodePodCidrs, ...node.podCidrs].some((cidr) => contains(cidr, address));
}
