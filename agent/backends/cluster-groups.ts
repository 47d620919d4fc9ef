import type { PlannedEndpoint, VirtualService } from "../plan/virtual-service.ts";

/** Endpoints with one share of a service's connections, which each of them gets an equal part of. */
export interface ClusterGroup {
  /** In comparison with the other groups. */
  readonly weight: number;
  /** At least one. */
  readonly endpoints: readonly PlannedEndpoint[];
}

/** The endpoints of a service with shares, one group for each cluster, in the order of the shares. PURE. */
export function clusterGroups({
  endpoints,
  shares = [],
}: Pick<VirtualService, "endpoints" | "shares">): ClusterGroup[] {
  const byCluster = Map.groupBy(endpoints, ({ cluster }) => cluster);
  return shares.flatMap(({ cluster, weight }) => {
    const own = byCluster.get(cluster);
    return own === undefined ? [] : [{ weight, endpoints: own }];
  });
}
