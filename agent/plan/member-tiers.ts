import type { Origin } from "../../api/tiers/origin.ts";
import { tierIndex, tiersOf } from "../../api/tiers/tiers.ts";
import type { NodeFact, SliceFact } from "../model/facts.ts";
import { importerOf, originOf } from "./origin.ts";

/**
 * The tier of each of these clusters for imports without selectors: by any of its slices, without one by flags. Reads slices until each cluster has one. PURE.
 */
export function memberTiers(
  members: ReadonlySet<string>,
  slices: Iterable<SliceFact>,
  node: NodeFact,
): ReadonlyMap<string, string> {
  const tiers = tiersOf({}, importerOf(node));
  const tierOf = (origin: Origin) => tiers[tierIndex(origin, tiers)]?.name ?? "";
  const found = new Map<string, string>();
  for (const slice of slices) {
    if (found.size === members.size) return found;
    const { cluster } = slice;
    if (cluster === undefined || found.has(cluster) || !members.has(cluster)) continue;
    found.set(cluster, tierOf(originOf(slice, node)));
  }
  for (const cluster of members) {
    const region = node.clusterRegions.get(cluster);
    if (!found.has(cluster)) found.set(cluster, tierOf({ cluster, ...(region && { region }) }));
  }
  return found;
}
