import type { NodeFact, SliceFact } from "../model/facts.ts";

/** Where a slice's endpoints come from, as far as anyone said. */
export interface Origin {
  readonly cluster?: string;
  readonly region?: string;
}

/** One rung of a ladder: a set of clusters, by rule. */
export interface Tier {
  /** The name that rules, logs and metrics show. */
  readonly name: string;
  holds(origin: Origin, node: NodeFact): boolean;
}

/** Tiers, nearest first. The last one holds every origin, so that every endpoint has a tier. */
export type Ladder = readonly Tier[];

/** The built-in ladder: this cluster, then clusters of its region, then all others. */
export const LADDER: Ladder = [
  {
    name: "local",
    holds: (origin, node) => origin.cluster !== undefined && origin.cluster === node.cluster,
  },
  {
    name: "regional",
    holds: (origin, node) =>
      origin.cluster !== undefined && origin.region !== undefined && origin.region === node.region,
  },
  { name: "global", holds: () => true },
];

/**
 * The origin of a slice. The operator's `clusterRegions` overrule the slice's own label: what another
 * cluster says of itself must not move it nearer against what is known here. A slice without a source
 * cluster has no region either: it is of unknown origin, whatever its label or its addresses suggest.
 */
export function originOf(slice: SliceFact, node: NodeFact): Origin {
  if (slice.cluster === undefined) return {};
  const own = slice.cluster === node.cluster ? node.region : undefined;
  const region = node.clusterRegions.get(slice.cluster) ?? slice.region ?? own;
  return { cluster: slice.cluster, ...(region !== undefined && { region }) };
}

/** Index of the first tier that holds `origin`; the last one if none says so. */
export function tierIndex(origin: Origin, ladder: Ladder, node: NodeFact): number {
  const index = ladder.findIndex((tier) => tier.holds(origin, node));
  return index < 0 ? ladder.length - 1 : index;
}
