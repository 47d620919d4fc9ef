import { compareText } from "../../api/compare-text.ts";
import { ruleShares } from "../registry/rule-shares.ts";
import type { FailoverSlice } from "./failover-slice.ts";

/** Endpoints of one Service and IP family: as many as Kubernetes lists in its Endpoints object. */
export const MOST_FAILOVER_ENDPOINTS = 1000;
/** Slices of the same; ten endpoints in each reach the other limit. */
export const MOST_FAILOVER_SLICES = 100;

/** The slices within the limits, of which no cluster takes anything from one below an equal share. PURE. */
export function withinLimits<Slice extends FailoverSlice>(
  slices: readonly Slice[],
): { readonly slices: readonly Slice[]; readonly limited: boolean } {
  const families = Map.groupBy(slices, ({ family }) => family).values();
  const kept = [...families].flatMap(familyWithinLimits);
  return { slices: kept, limited: endpointsOf(kept) < endpointsOf(slices) };
}

function familyWithinLimits<Slice extends FailoverSlice>(slices: readonly Slice[]): Slice[] {
  // In the same order in every replica.
  const ordered = slices.toSorted((a, b) => compareText(a.key, b.key));
  const byCluster = [...Map.groupBy(ordered, ({ cluster }) => cluster).values()];
  const most = ruleShares(
    byCluster.map(({ length }) => length),
    MOST_FAILOVER_SLICES,
  );
  const fewer = byCluster.map((list, i) => list.slice(0, most[i]));
  const endpoints = ruleShares(fewer.map(endpointsOf), MOST_FAILOVER_ENDPOINTS);
  return fewer.flatMap((list, i) => firstEndpoints(list, endpoints[i] ?? 0));
}

function firstEndpoints<Slice extends FailoverSlice>(slices: readonly Slice[], most: number) {
  let left = most;
  return slices.flatMap((slice): Slice[] => {
    const endpoints = slice.endpoints.slice(0, left);
    left -= endpoints.length;
    return endpoints.length === 0 ? [] : [{ ...slice, endpoints }];
  });
}

function endpointsOf(slices: readonly FailoverSlice[]): number {
  return slices.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
}
