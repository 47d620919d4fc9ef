import type { Origin } from "../../api/tiers/cluster-selectors.ts";
import { tierIndex, tiersOf } from "../../api/tiers/tiers.ts";
import type { NodeFact, SliceFact } from "../model/facts.ts";

/**
 * The origin of a slice. `clusterRegions` (a flag) takes precedence over its label, so that a cluster cannot move itself
 * nearer. Without a source cluster, the origin is unknown.
 */
export function originOf(slice: SliceFact, node: NodeFact): Origin {
  if (slice.cluster === undefined) return {};
  const mine = slice.cluster === node.cluster;
  const region =
    node.clusterRegions.get(slice.cluster) ?? slice.region ?? (mine ? node.region : undefined);
  const properties = mine && node.properties.size > 0 ? node.properties : slice.properties;
  return {
    cluster: slice.cluster,
    ...(region !== undefined && { region }),
    ...(properties !== undefined && { properties }),
  };
}

/** This node's own cluster as an origin. */
export function importerOf(node: NodeFact): Origin {
  return {
    ...(node.cluster !== undefined && { cluster: node.cluster }),
    ...(node.region !== undefined && { region: node.region }),
    properties: node.properties,
  };
}

/**
 * The tier of each of these clusters for imports without selectors: by any of its slices, without one by flags. Reads slices until each cluster has one. PURE.
 */
export function memberTiers(
  members: ReadonlySet<string>,
  slices: Iterable<SliceFact>,
  node: NodeFact,
): ReadonlyMap<string, string> {
  const tiers = tiersOf({}, importerOf(node));
  const tierOf = (origin: Origin) => tiers[tierIndex(origin, tiers)]?.name ?? "";
  const found = new Map<string, string>();
  for (const slice of slices) {
    if (found.size === members.size) return found;
    const { cluster } = slice;
    if (cluster === undefined || found.has(cluster) || !members.has(cluster)) continue;
    found.set(cluster, tierOf(originOf(slice, node)));
  }
  for (const cluster of members) {
    const region = node.clusterRegions.get(cluster);
    if (!found.has(cluster)) found.set(cluster, tierOf({ cluster, ...(region && { region }) }));
  }
  return found;
}
