import type { ImportFact, NodeFact, SliceFact } from "../model/facts.ts";
import { type Ladder, tierIndex } from "./ladder.ts";
import { originOf } from "./origin.ts";

/**
 * Endpoints of an import that are chosen among, each counted once for every port that its slice may have of the import's:
 * about a second of work, and as many rules. Objects have limits of their own, but ten full slices of 100 ports make a
 * million of these, with which one namespace would hold up every node for five seconds at each change. Two full
 * slices always fit.
 */
export const MOST_CHOICES = 200_000;

/** Slices that are within the budget of an import, and those that are beyond it. */
export interface Budgeted {
  readonly within: readonly SliceFact[];
  readonly beyond: readonly SliceFact[];
}

/** Spends the budget on the nearest slices first, then by name, as whole slices. PURE. */
export function budgeted(
  slices: readonly SliceFact[],
  fact: Pick<ImportFact, "ports">,
  ladder: Ladder,
  node: NodeFact,
): Budgeted {
  const costOf = ({ ports, endpoints }: SliceFact) =>
    endpoints.length * Math.min(ports.length, fact.ports.length);
  const total = slices.reduce((sum, slice) => sum + costOf(slice), 0);
  if (total <= MOST_CHOICES) return { within: slices, beyond: [] };
  const tiers = new Map(slices.map((one) => [one, tierIndex(originOf(one, node), ladder)]));
  const nearest = [...slices].sort(
    (a, b) => (tiers.get(a) ?? 0) - (tiers.get(b) ?? 0) || (a.key < b.key ? -1 : 1),
  );
  let spent = 0;
  const taken = new Set<SliceFact>();
  for (const slice of nearest) {
    spent += costOf(slice);
    if (spent > MOST_CHOICES) break;
    taken.add(slice);
  }
  return {
    within: slices.filter((slice) => taken.has(slice)),
    beyond: slices.filter((slice) => !taken.has(slice)),
  };
}
