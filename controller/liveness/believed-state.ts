import type { ClusterState, SliceFact } from "../model/facts.ts";

/**
 * What was believed of a cluster when its slices here were written: stale, if none of its endpoints is ready and one
 * that stays serves, which is what staleness makes of them. Where nothing can be read off them, nothing is lost either
 * by calling the cluster alive. PURE.
 */
export function believedState(slices: Iterable<Pick<SliceFact, "endpoints">>): ClusterState {
  let stale = false;
  for (const { endpoints } of slices) {
    for (const { ready, serving, terminating } of endpoints) {
      if (ready) return "alive";
      stale ||= serving && !terminating;
    }
  }
  return stale ? "stale" : "alive";
}
