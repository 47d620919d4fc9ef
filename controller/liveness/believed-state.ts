import type { ClusterState } from "../model/facts.ts";
import type { ImportedSliceFact } from "../model/parse-imported-slice.ts";

/**
 * What was believed of a cluster when its slices here were written: stale, if none of its endpoints is ready and one
 * that stays serves, which is what staleness makes of them. Where nothing can be read off them, nothing is lost either
 * by calling the cluster alive. PURE.
 */
export function believedState(
  slices: readonly Pick<ImportedSliceFact, "ready" | "servesOnly">[],
): ClusterState {
  if (slices.some(({ ready }) => ready)) return "alive";
  return slices.some(({ servesOnly }) => servesOnly) ? "stale" : "alive";
}
