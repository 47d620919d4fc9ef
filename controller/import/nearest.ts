import type { Contribution } from "./imported-slices.ts";

/**
 * Where the nearest ready endpoints of a service are, seen from a cluster; `none`: no cluster has one. It is what holds for all
 * nodes: each node decides for each port, and selectors and policies of an import may lead elsewhere.
 */
export type NearestPlace = "local" | "regional" | "global" | "none";

/** All places, the nearest first. */
export const PLACES: readonly NearestPlace[] = ["local", "regional", "global", "none"];

/** The nearest ready endpoints of an exported service. */
export interface Nearest {
  readonly place: NearestPlace;
  /** The clusters that have them, in order of name. */
  readonly clusters: readonly string[];
  /** All clusters that export the service. */
  readonly exporters: readonly string[];
  /** True if this cluster exports the service, too. */
  readonly exportedHere: boolean;
}

/** The importing cluster. `region`: absent if unknown. */
export interface Viewpoint {
  readonly cluster: string;
  readonly region?: string;
}

/** The nearest ready endpoints among the contributions of all clusters. Those of a stale or drained cluster are not ready. PURE. */
export function nearestOf(contributions: readonly Contribution[], from: Viewpoint): Nearest {
  const exporters = contributions.map(({ record }) => record.cluster);
  const byPlace = Map.groupBy(contributions.filter(isReady), (one) => placeOf(one, from));
  const place = PLACES.find((one) => byPlace.has(one)) ?? "none";
  const clusters = (byPlace.get(place) ?? []).map(({ record }) => record.cluster).toSorted();
  return { place, clusters, exporters, exportedHere: exporters.includes(from.cluster) };
}

function isReady({ state, slices }: Contribution): boolean {
  return state === "alive" && slices.some(({ endpoints }) => endpoints.some(({ ready }) => ready));
}

function placeOf({ record, cluster }: Contribution, from: Viewpoint): NearestPlace {
  if (record.cluster === from.cluster) return "local";
  return from.region !== undefined && cluster?.region === from.region ? "regional" : "global";
}
