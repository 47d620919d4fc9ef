import { split } from "../model/exported-metadata.ts";
import type { ExportRecord } from "../model/facts.ts";
import { inKeyOrder } from "../model/manifest.ts";
import { conflictsOf } from "./conflicts.ts";
import type { MergedService } from "./merged.ts";
import { bySeniority } from "./seniority.ts";
import { unitePorts } from "./unite-ports.ts";

/**
 * Merges the exports of one name; undefined if there is none. The oldest export, or that of `decider`, decides each
 * property with one value; ports are merged. The result depends on the records and `decider` alone, so it is the same in
 * every cluster.
 *
 * An export of another type is overruled in its type only: its ports and endpoints count (KEP-1645). The IP families
 * are the oldest's: an intersection could remove a VIP when a younger export appears, and a union could add one that
 * reaches only some backends.
 */
export function merge(
  records: readonly ExportRecord[],
  decider?: string,
): MergedService | undefined {
  const seniors = bySeniority(records, decider);
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
      annotations: inKeyOrder(split(metadata.annotations).users),
    },
    contributors: seniors.map(({ cluster }) => cluster),
    conflicts: conflictsOf(seniors, decider),
  };
}
