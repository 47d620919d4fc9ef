import type { ImportFact } from "../model/facts.ts";
import type { Candidate } from "./candidates.ts";
import { weightOf } from "./shares.ts";

/**
 * The candidates that are used last because they do not answer: all of a cluster that does not, and of the others at most half of those that share
 * the traffic of a tier, because an overloaded endpoint looks like a dead one, and the load of each goes to the rest. These are the ones that were
 * found first. One that is alone counts, too. Endpoints that are not ready, or whose cluster has no weight, take no part of the load: they do not
 * make the half larger.
 */
export function unansweringOf(
  candidates: readonly Candidate[],
  { clusterWeights }: Pick<ImportFact, "clusterWeights">,
): ReadonlySet<Candidate> {
  const silent = new Set(candidates.filter((c) => c.silent?.scope === "cluster"));
  const sharing = Map.groupBy(
    candidates.filter((c) => c.condition !== "not-ready" && !silent.has(c)),
    (c) => `${c.tier} ${c.condition === "ready"} ${weightOf(c, clusterWeights) > 0}`,
  );
  for (const members of sharing.values()) {
    const found = members
      .filter((c) => c.silent !== undefined)
      .sort((a, b) => (a.silent?.since ?? 0) - (b.silent?.since ?? 0));
    const most = Math.max(1, Math.floor(members.length / 2));
    for (const one of found.slice(0, most)) silent.add(one);
  }
  return silent;
}
