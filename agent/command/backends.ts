import type { Family } from "../../api/address.ts";
import { type Cidr, familiesIn, ofFamily } from "../../api/cidr.ts";
import type { ConnectionCounters, KernelReader } from "../backends/backend.ts";
import type { OpenOptions, ReadyBackend } from "../backends/backend-kind.ts";
import { KernelTable } from "../backends/kernel-table.ts";

/**
 * Opens the backend for each family that has a ClusterSet CIDR; returns their tables, what reads each, and the connection counters of each family that
 * has any. `onRespawn`: called whenever a child process of a family failed.
 */
export function openBackends(
  ready: ReadyBackend,
  clusterSetCidrs: readonly Cidr[],
  options: Pick<OpenOptions, "keep" | "othersInPlace">,
  onRespawn: (family: Family) => void,
) {
  const tables = new Map<Family, KernelTable>();
  const counters = new Map<Family, ConnectionCounters>();
  const readers = new Map<Family, KernelReader>();
  for (const family of familiesIn(clusterSetCidrs)) {
    const ranges = ofFamily(clusterSetCidrs, family);
    const open = ready.open(family, ranges, { ...options, onRespawn: () => onRespawn(family) });
    tables.set(family, new KernelTable(open.dataplane));
    readers.set(family, open.reader);
    if (open.counters !== undefined) counters.set(family, open.counters);
  }
  return { tables, counters, readers };
}
