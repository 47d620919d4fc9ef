import { compareText } from "../../api/compare-text.ts";
import type { ExportRecord } from "../model/facts.ts";

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
