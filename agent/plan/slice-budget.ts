import { FairBudget } from "../../api/fair-budget.ts";
import type { ObjectKey } from "../../api/names.ts";
import { type Tiers, tierIndex } from "../../api/tiers/tiers.ts";
import type { ImportFact, NodeFact, SliceFact } from "../model/facts.ts";
import { importCost, sliceCosts } from "../model/rule-cost.ts";
import { originOf } from "./origin.ts";

/** The slices of an import that are within its allowance, and those that are beyond. */
export interface BudgetedSlices {
  /** Of some, the first part. */
  readonly within: readonly SliceFact[];
  readonly beyond: readonly LeftOut[];
}

/** A slice beyond the allowance, of which the first `kept` endpoints are used; 0: it is left out as a whole. */
export interface LeftOut {
  readonly slice: SliceFact;
  readonly kept: number;
}

/**
 * The slices that an import may have for `rules`: those that can be used first, the nearest tier first. Within a tier, source clusters share what is left,
 * max-min fair, and each gets its slices by name. Of the first slice of a cluster that does not fit, it gets as many endpoints as do, in the order of the
 * slice. PURE.
 */
export function budgeted(
  slices: readonly SliceFact[],
  fact: ImportFact,
  rules: number,
  isUsable: (slice: SliceFact) => boolean,
  tiers: Tiers,
  node: NodeFact,
): BudgetedSlices {
  const ranks = Array.from({ length: tiers.length + 1 }, (): SliceFact[] => []);
  for (const slice of slices) {
    const rank = isUsable(slice) ? tierIndex(originOf(slice, node), tiers) : tiers.length;
    ranks[rank]?.push(slice);
  }
  let left = rules - importCost(fact);
  const within: SliceFact[] = [];
  const beyond: LeftOut[] = [];
  for (const [rank, ofRank] of ranks.entries()) {
    const shared = sharedByClusters(ofRank, fact, left, rank < tiers.length);
    within.push(...shared.within);
    beyond.push(...shared.beyond);
    left = beyond.length > 0 ? 0 : left - shared.cost;
  }
  return { within, beyond };
}

/** Slices of one rank. `isUsable`: part of a slice is of use. */
function sharedByClusters(
  slices: readonly SliceFact[],
  fact: ImportFact,
  rules: number,
  isUsable: boolean,
): BudgetedSlices & { readonly cost: number } {
  const budget = new FairBudget<ObjectKey>(rules);
  let sum = 0;
  for (const slice of slices) {
    const { fixed, endpoint } = sliceCosts(slice, fact);
    const cost = fixed + slice.endpoints.length * endpoint;
    const least = isUsable ? Math.min(cost, fixed + endpoint) : cost;
    sum += cost;
    budget.set(slice.key, slice.cluster ?? "", 0, cost, least);
  }
  if (sum <= rules) return { within: slices, beyond: [], cost: sum };
  const within: SliceFact[] = [];
  const beyond: LeftOut[] = [];
  for (const slice of slices) {
    const restricted = budget.restricted(slice.key);
    if (restricted === undefined) {
      within.push(slice);
      continue;
    }
    const { fixed, endpoint } = sliceCosts(slice, fact);
    const kept = restricted.grant === 0 ? 0 : Math.floor((restricted.grant - fixed) / endpoint);
    if (kept > 0) within.push({ ...slice, endpoints: slice.endpoints.first(kept) });
    beyond.push({ slice, kept });
  }
  return { within, beyond, cost: rules };
}
