import type { Family } from "../../api/address.ts";
import type { RemoteSlice } from "./nearest-remote.ts";

/** Endpoints of one Service and IP family: as many as Kubernetes lists in its Endpoints object. */
export const MOST_FAILOVER_ENDPOINTS = 1000;
/** Slices of the same; ten endpoints in each reach the other limit. */
export const MOST_FAILOVER_SLICES = 100;

/** The slices within the limits. Clusters take turns, so that each keeps some endpoints. PURE. */
export function withinLimits(slices: readonly RemoteSlice[]): {
  readonly slices: readonly RemoteSlice[];
  readonly limited: boolean;
} {
  const room = new Map<Family, { endpoints: number; slices: number }>();
  const kept: RemoteSlice[] = [];
  let limited = false;
  for (const { cluster, slice } of inTurns(slices)) {
    const left = room.get(slice.family) ?? {
      endpoints: MOST_FAILOVER_ENDPOINTS,
      slices: MOST_FAILOVER_SLICES,
    };
    room.set(slice.family, left);
    const endpoints = left.slices > 0 ? slice.endpoints.slice(0, left.endpoints) : [];
    if (endpoints.length < slice.endpoints.length) limited = true;
    if (endpoints.length === 0) continue;
    left.endpoints -= endpoints.length;
    left.slices -= 1;
    kept.push({ cluster, slice: { ...slice, endpoints } });
  }
  return { slices: kept, limited };
}

/** The first slice of each cluster, then the second of each, …: the same order in every replica. */
function inTurns(slices: readonly RemoteSlice[]): RemoteSlice[] {
  const count = new Map<string, number>();
  return slices
    .toSorted((a, b) => compare(a.slice.key, b.slice.key))
    .map((one) => {
      const turn = count.get(one.cluster) ?? 0;
      count.set(one.cluster, turn + 1);
      return { one, turn };
    })
    .toSorted((a, b) => a.turn - b.turn || compare(a.one.cluster, b.one.cluster))
    .map(({ one }) => one);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
