import type { Origin } from "../../api/tiers/origin.ts";
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
