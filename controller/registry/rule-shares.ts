import { endpointCost } from "../../api/endpoint-cost.ts";
import type { ServiceProperties, SliceFact } from "../model/facts.ts";

/** What of a merged service decides how many rules its endpoints cost. */
export type RuleFactors = Pick<
  ServiceProperties,
  "families" | "headless" | "ports" | "sessionAffinity"
>;

/** Rules that each endpoint of a slice costs a node. An import has at most one VIP of a family. */
export function rulesPerEndpoint(
  { family, ports }: Pick<SliceFact, "family" | "ports">,
  service: RuleFactors,
): number {
  if (service.headless || !service.families.includes(family)) return 0;
  const affinity = service.sessionAffinity === "ClientIP";
  return endpointCost(ports.length, service.ports.length, affinity);
}

/** Rules that the slices of one cluster cost a node. */
export function rulesOf(slices: readonly SliceFact[], service: RuleFactors): number {
  const costs = slices.map((slice) => slice.endpoints.length * rulesPerEndpoint(slice, service));
  return costs.reduce((sum, cost) => sum + cost, 0);
}

/**
 * Divides `most` among clusters, in the order of `costs`. No cluster gets more than it costs, and the others get what it
 * leaves, so that no cluster takes anything from one below an equal share.
 */
export function ruleShares(costs: readonly number[], most: number): number[] {
  const shares = costs.map(() => 0);
  let left = most;
  let others = costs.length;
  for (const [index, cost] of [...costs.entries()].sort(([, a], [, b]) => a - b)) {
    const share = Math.min(cost, Math.floor(left / others));
    shares[index] = share;
    left -= share;
    others--;
  }
  return shares;
}
