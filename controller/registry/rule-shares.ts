import { endpointCost, levelOf } from "../../api/fair-budget.ts";
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

/** Divides `most` among clusters, max-min fair (`api/fair-budget.ts`), in the order of `costs`. */
export function ruleShares(costs: readonly number[], most: number): number[] {
  const level = levelOf(costs, most);
  return costs.map((cost) => Math.min(cost, level));
}
