import type { ExportRecord } from "../model/facts.ts";
import { inKeyOrder } from "../model/manifest.ts";
import { conflictsOf } from "./conflicts.ts";
import type { MergedService } from "./merged.ts";
import { bySeniority } from "./seniority.ts";
import { unitePorts } from "./unite-ports.ts";

/**
 * Merges what all clusters export under one name; undefined if none does. The oldest export decides all that has
 * one value; the ports are united. It has no memory, so the same records, in any order, are the same service in
 * every cluster.
 *
 * An export of another type than the oldest's is overruled in its type alone. KEP-1645 lets the oldest decide
 * "headlessness of the service as a whole", and takes no constituent out for it: its ports and endpoints go on
 * to count, and where it exposes a port of the merged service, they take its traffic.
 *
 * The IP families are the oldest's, too. An intersection would take a VIP away from clients when a younger
 * export comes, a union would add one that reaches a part of the backends.
 */
export function merge(records: readonly ExportRecord[]): MergedService | undefined {
  const seniors = bySeniority(records);
  const [oldest] = seniors;
  if (oldest === undefined) return undefined;
  const { affinitySeconds, internalTrafficPolicy, trafficDistribution, metadata } = oldest;
  return {
    key: oldest.key,
    headless: oldest.headless,
    ports: unitePorts(seniors),
    families: oldest.families,
    sessionAffinity: oldest.sessionAffinity,
    ...(affinitySeconds !== undefined && { affinitySeconds }),
    ...(internalTrafficPolicy !== undefined && { internalTrafficPolicy }),
    ...(trafficDistribution !== undefined && { trafficDistribution }),
    metadata: {
      labels: inKeyOrder(metadata.labels),
      annotations: inKeyOrder(metadata.annotations),
    },
    contributors: seniors.map(({ cluster }) => cluster),
    conflicts: conflictsOf(seniors),
  };
}
