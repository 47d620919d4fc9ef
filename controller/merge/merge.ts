import { compareText } from "../../api/names.ts";
import { split } from "../model/exported-metadata.ts";
import type { ExportRecord, ServicePort } from "../model/facts.ts";
import { inKeyOrder } from "../model/manifest.ts";
import { conflictsOf } from "./conflicts.ts";
import type { MergedService } from "./merged.ts";

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

/**
 * The records of one name, at most one per cluster: oldest export first, then by cluster ID (KEP-1645 defines no
 * tie-break). `decider`: the cluster whose export comes first, whatever its age.
 */
export function bySeniority(records: readonly ExportRecord[], decider?: string): ExportRecord[] {
  const rank = ({ cluster }: ExportRecord) => (cluster === decider ? 0 : 1);
  return records.toSorted(
    (a, b) => rank(a) - rank(b) || a.exported - b.exported || compareText(a.cluster, b.cluster),
  );
}

/**
 * Merges the ports of all records, oldest export first: the first of each name, then the first of each protocol and
 * number (KEP-1645).
 */
function unitePorts(seniors: readonly ExportRecord[]): ServicePort[] {
  const all = seniors.flatMap(({ ports }) => ports);
  const named = firstOfEach(all, ({ name }) => name);
  return firstOfEach(named, ({ protocol, port }) => `${protocol} ${port}`);
}

function firstOfEach<T>(all: readonly T[], keyOf: (one: T) => string): T[] {
  const first = new Map<string, T>();
  for (const one of all) {
    const key = keyOf(one);
    if (!first.has(key)) first.set(key, one);
  }
  return [...first.values()];
}
