import type { NodeFact, SliceFact } from "../model/facts.ts";

/** Where a slice's endpoints come from, as far as anyone said. Without a cluster there is nothing else. */
export interface Origin {
  readonly cluster?: string;
  readonly region?: string;
  /** What the cluster says of itself, by name; its id and its region are not looked up here. */
  readonly properties?: ReadonlyMap<string, string>;
}

/**
 * The origin of a slice. The operator's `clusterRegions` overrule the slice's own label: what another
 * cluster says of itself must not move it nearer against what is known here. A slice without a source
 * cluster has no region and no properties either: it is of unknown origin, whatever its label or its addresses
 * suggest. Of this node's own cluster, what is known here counts.
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

/** This node's own cluster, which imports: what another one is compared with. */
export function importerOf(node: NodeFact): Origin {
  return {
    ...(node.cluster !== undefined && { cluster: node.cluster }),
    ...(node.region !== undefined && { region: node.region }),
    properties: node.properties,
  };
}
