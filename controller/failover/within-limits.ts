import { compareText } from "../../api/compare-text.ts";
import { ruleShares } from "../registry/rule-shares.ts";
import type { RemoteSlice } from "./nearest-remote.ts";

/** Endpoints of one Service and IP family: as many as Kubernetes lists in its Endpoints object. */
export const MOST_FAILOVER_ENDPOINTS = 1000;
/** Slices of the same; ten endpoints in each reach the other limit. */
export const MOST_FAILOVER_SLICES = 100;

/** Cuts the slices to the limits, so that no cluster gets less than an equal share because of others. PURE. */
export function withinLimits(slices: readonly RemoteSlice[]): {
  readonly slices: readonly RemoteSlice[];
  readonly limited: boolean;
} {
  const families = Map.groupBy(slices, ({ slice }) => slice.family).values();
  const kept = [...families].flatMap(familyWithinLimits);
  return { slices: kept, limited: endpointsOf(kept) < endpointsOf(slices) };
}

function familyWithinLimits(slices: readonly RemoteSlice[]): RemoteSlice[] {
  // In the same order in every replica.
  const ordered = slices.toSorted((a, b) => compareText(a.slice.key, b.slice.key));
  const byCluster = [...Map.groupBy(ordered, ({ cluster }) => cluster).values()];
  const most = ruleShares(
    byCluster.map(({ length }) => length),
    MOST_FAILOVER_SLICES,
  );
  const fewer = byCluster.map((list, i) => list.slice(0, most[i]));
  const endpoints = ruleShares(fewer.map(endpointsOf), MOST_FAILOVER_ENDPOINTS);
  return fewer.flatMap((list, i) => firstEndpoints(list, endpoints[i] ?? 0));
}

function firstEndpoints(slices: readonly RemoteSlice[], most: number): RemoteSlice[] {
  let left = most;
  return slices.flatMap((one) => {
    const endpoints = one.slice.endpoints.slice(0, left);
    left -= endpoints.length;
    return endpoints.length === 0 ? [] : [{ ...one, slice: { ...one.slice, endpoints } }];
  });
}

function endpointsOf(slices: readonly RemoteSlice[]): number {
  return slices.reduce((sum, { slice }) => sum + slice.endpoints.length, 0);
}
