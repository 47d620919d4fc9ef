import { joint } from "../import/imported-slices.ts";
import type { FailoverSliceFact } from "../model/parse-failover-slice.ts";
import type { FailoverSlice } from "./failover-slice.ts";

/** What is known of other clusters. */
export interface Contact {
  /** True if it is known what a cluster exports. */
  readonly isSynced: (cluster: string) => boolean;
  /** False for a cluster that is stale or drained. */
  readonly isInRotation: (cluster: string) => boolean;
}

/**
 * The present slices that stay, of clusters that were not listed since the start: while such a cluster counts as alive, and after that
 * as long as one of their ports has no ready endpoint of another cluster among the `wanted` slices. PURE.
 */
export function notHeard(
  present: readonly FailoverSliceFact[],
  wanted: readonly FailoverSlice[],
  { isInRotation, isSynced }: Contact,
): readonly FailoverSlice[] {
  const ready = new Set(wanted.filter((slice) => slice.ready).flatMap(portsOf));
  const names = new Set(wanted.map(({ key }) => key));
  return presentSlices(present).filter((slice) => {
    const { cluster, key } = slice;
    if (isSynced(cluster) || names.has(key)) return false;
    return isInRotation(cluster) || portsOf(slice).some((port) => !ready.has(port));
  });
}

/** Those of a known cluster, as they would be written again. */
export function presentSlices(present: readonly FailoverSliceFact[]): readonly FailoverSlice[] {
  return present.flatMap(({ cluster, ...slice }) =>
    cluster === undefined ? [] : [{ ...slice, cluster, ready: false }],
  );
}

function portsOf({ family, ports }: FailoverSliceFact): readonly string[] {
  return ports.map((port) => `${family} ${joint(port)}`);
}
