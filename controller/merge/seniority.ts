import type { ExportRecord } from "../model/facts.ts";
import { inKeyOrder } from "../model/manifest.ts";

/**
 * One record a cluster, the oldest export first, equal ages by cluster id (KEP-1645 names no such rule, and its
 * timestamps have whole seconds). Of a cluster with two, the older counts.
 */
export function bySeniority(records: readonly ExportRecord[]): ExportRecord[] {
  const seniors = new Map<string, ExportRecord>();
  for (const record of records.toSorted(compareSeniority)) {
    if (!seniors.has(record.cluster)) seniors.set(record.cluster, record);
  }
  return [...seniors.values()];
}

function compareSeniority(a: ExportRecord, b: ExportRecord): number {
  return (
    a.exported - b.exported ||
    compareText(a.cluster, b.cluster) ||
    // Never so for what a registry holds, a name once; and still the order must not matter.
    compareText(recordText(a), recordText(b))
  );
}

/** Code units: the order must not depend on the machine's language. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function recordText(record: ExportRecord): string {
  return JSON.stringify(record, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? inKeyOrder({ ...value })
      : value,
  );
}
