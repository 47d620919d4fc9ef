import type { PlannedEndpoint, VirtualService } from "../../plan/virtual-service.ts";
import { clusterGroups } from "../cluster-groups.ts";

/**
 * The chance of each endpoint's rule, in order, for a connection that no earlier rule took: its share of what is left, so that the last rule takes
 * the rest. With equal shares the i-th of n has 1/(n-i). PURE.
 */
export function chancesOf(service: VirtualService): number[] {
  const { endpoints, shares } = service;
  if (shares === undefined) return endpoints.map((_, i) => 1 / (endpoints.length - i));
  const parts = new Map<PlannedEndpoint, number>();
  for (const group of clusterGroups(service)) {
    for (const one of group.endpoints) parts.set(one, group.weight / group.endpoints.length);
  }
  let left = 0;
  const chances: number[] = [];
  for (const endpoint of endpoints.toReversed()) {
    const part = parts.get(endpoint) ?? 0;
    left += part;
    chances.push(part / left);
  }
  return chances.reverse();
}
