import { compareText } from "../../api/compare-text.ts";
import type { FailoverSliceFact } from "../model/parse-failover-slice.ts";
import type { FailoverInput } from "./failover-input.ts";
import type { FailoverSlice } from "./failover-slice.ts";
import { portKey } from "./local-endpoints.ts";
import { MOST_FAILOVER_SLICES } from "./within-limits.ts";

/**
 * The present slices that stay, of clusters that were not listed since the start. A slice keeps the ports that the Service has; once its
 * cluster is out of rotation, only those without a ready endpoint among the `wanted` slices. At most as many as a Service may have. PURE.
 */
export function notHeard(
  wanted: readonly FailoverSlice[],
  { isInRotation, isSynced, local, present, service }: FailoverInput,
): readonly FailoverSlice[] {
  const { families = [], ports: own = [] } = service.properties ?? {};
  const used = new Set(families.flatMap((family) => own.map((port) => portKey(family, port))));
  const ready = new Set(wanted.filter((slice) => slice.ready).flatMap(portsOf));
  const names = new Set(wanted.map(({ key }) => key));
  const kept = presentSlices(present).flatMap((slice) => {
    const { cluster, family, key } = slice;
    if (isSynced(cluster) || names.has(key)) return [];
    const ports = slice.ports.filter((port) => {
      const name = portKey(family, port);
      return used.has(name) && (isInRotation(cluster) || !ready.has(name));
    });
    const addresses = slice.addresses.filter((address) => !local.addresses.has(address));
    return ports.length === 0 || addresses.length === 0 ? [] : [{ ...slice, addresses, ports }];
  });
  const byFamily = Map.groupBy(kept, ({ family }) => family).values();
  return [...byFamily].flatMap((slices) => slices.slice(0, MOST_FAILOVER_SLICES));
}

/** Present slices whose source cluster is known, in order of key. Their endpoints count as not ready. */
export function presentSlices(present: readonly FailoverSliceFact[]): readonly FailoverSlice[] {
  return present
    .toSorted((a, b) => compareText(a.key, b.key))
    .flatMap(({ cluster, ...slice }) =>
      cluster === undefined ? [] : [{ ...slice, cluster, ready: false }],
    );
}

function portsOf({ family, ports }: FailoverSlice): readonly string[] {
  return ports.map((port) => portKey(family, port));
}
