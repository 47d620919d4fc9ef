import { endpointCost } from "../../api/fair-budget.ts";
import type { ImportFact, SliceFact } from "./facts.ts";

/**
 * What objects cost a node, in kernel objects: rules with iptables, destinations with IPVS. It is the most that they can
 * cost, so it does not depend on the node: an endpoint counts even if a nearer one takes its traffic, for it is compared.
 */

/** The cost of an import without its endpoints: one object for each VIP and port, and one for each unit of its weights. */
export function importCost({ headless, vips, ports, clusterWeights }: ImportFact): number {
  if (headless) return 0;
  const units = clusterWeights?.values().reduce((sum, weight) => sum + weight, 0) ?? 0;
  return vips.length * ports.length * (1 + units);
}

/** The cost of an import with one endpoint on all ports: with less, it rejects all connections. */
export function leastCost(fact: ImportFact): number {
  if (fact.headless) return 0;
  const { ports, vips, affinitySeconds } = fact;
  const endpoint = endpointCost(ports.length, ports.length, affinitySeconds !== undefined);
  return importCost(fact) + ports.length + vips.length * endpoint;
}

/** What a slice costs in any case, and for each of its endpoints. */
export interface SliceCost {
  readonly fixed: number;
  readonly endpoint: number;
}

/**
 * The costs of a slice: each endpoint once for each port and VIP of its family, and more with session affinity. Every slice
 * costs at least one for each port of the import, because each port's plan names it.
 */
export function sliceCosts(slice: SliceFact, fact: ImportFact): SliceCost {
  const { headless, ports, affinitySeconds, onEndpointDeath } = fact;
  if (headless || fact.vips.length === 0) return { fixed: 0, endpoint: 0 };
  const vips = fact.vips.filter(({ family }) => family === slice.family).length;
  const fixed = Math.max(1, ports.length);
  // Resets compare connections with all endpoints that are listed.
  const unused = (vips === 0 || !slice.active) && onEndpointDeath === undefined;
  if (unused) return { fixed, endpoint: 0 };
  const cost = endpointCost(slice.ports.length, ports.length, affinitySeconds !== undefined);
  return { fixed, endpoint: cost * Math.max(1, vips) };
}

/** The cost of a slice with all its endpoints. */
export function sliceCost(slice: SliceFact, fact: ImportFact): number {
  const { fixed, endpoint } = sliceCosts(slice, fact);
  return fixed + slice.endpoints.length * endpoint;
}
