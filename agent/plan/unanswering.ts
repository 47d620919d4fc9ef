import type { Candidate } from "./candidates.ts";

/**
 * The candidates that are used last because they do not answer: all of a cluster that does not, and of the others at most half of a tier,
 * those that were found first, because an overloaded endpoint looks like a dead one, and the load of each goes to the rest. One that is alone in its tier counts, too.
 */
export function unansweringOf(candidates: readonly Candidate[]): ReadonlySet<Candidate> {
  const silent = new Set(candidates.filter((c) => c.silent?.scope === "cluster"));
  const tiers = Map.groupBy(
    candidates.filter((c) => c.condition !== "not-ready" && !silent.has(c)),
    ({ tier }) => tier,
  );
  for (const members of tiers.values()) {
    const found = members
      .filter((c) => c.silent !== undefined)
      .sort((a, b) => (a.silent?.since ?? 0) - (b.silent?.since ?? 0));
    const most = Math.max(1, Math.floor(members.length / 2));
    for (const one of found.slice(0, most)) silent.add(one);
  }
  return silent;
}
