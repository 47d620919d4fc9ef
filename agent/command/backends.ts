import type { Family } from "../../api/address.ts";
import { type Cidr, familiesIn, ofFamily } from "../../api/cidr.ts";
import type { AnyBackend, ConnectionCounters, KernelReader } from "../backends/backend.ts";
import type { OpenOptions, ReadyBackend } from "../backends/backend-kind.ts";

/**
 * Opens a backend for each family that has a ClusterSet CIDR; returns them, what reads each, and the connection counters of each family that
 * has any. `onRespawn`: called whenever a child process of a family failed.
 */
export function openBackends(
  ready: ReadyBackend,
  clusterSetCidrs: readonly Cidr[],
  options: Pick<OpenOptions, "keep" | "othersInPlace">,
  onRespawn: (family: Family) => void,
) {
  const backends = new Map<Family, AnyBackend>();
  const counters = new Map<Family, ConnectionCounters>();
  const readers = new Map<Family, KernelReader>();
  for (const family of familiesIn(clusterSetCidrs)) {
    const ranges = ofFamily(clusterSetCidrs, family);
    const open = ready.open(family, ranges, { ...options, onRespawn: () => onRespawn(family) });
    backends.set(family, open.backend);
    readers.set(family, open.reader);
    if (open.counters !== undefined) counters.set(family, open.counters);
  }
  return { backends, counters, readers };
}
