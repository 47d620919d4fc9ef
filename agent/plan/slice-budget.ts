import { type Tiers, tierIndex } from "../../api/tiers/tiers.ts";
import type { ImportFact, NodeFact, SliceFact } from "../model/facts.ts";
import { importCost, sliceCosts } from "../model/rule-cost.ts";
import { originOf } from "./origin.ts";

/** The slices of an import that are within its allowance, and those that are beyond. */
export interface BudgetedSlices {
  /** The last may be the first part of a slice. */
  readonly within: readonly SliceFact[];
  readonly beyond: readonly LeftOut[];
}

/** A slice beyond the allowance, of which the first `kept` endpoints are used; 0: it is left out as a whole. */
export interface LeftOut {
  readonly slice: SliceFact;
  readonly kept: number;
}

/**
 * The slices that an import may have for `rules`: those that can be used first, the nearest first, then by name. Of the first
 * slice that does not fit, as many endpoints as do, in the order of the slice. PURE.
 */
export function budgeted(
  slices: readonly SliceFact[],
  fact: ImportFact,
  rules: number,
  isUsable: (slice: SliceFact) => boolean,
  tiers: Tiers,
  node: NodeFact,
): BudgetedSlices {
  const nearest = slices
    .map((slice) => ({
      slice,
      rank: isUsable(slice) ? tierIndex(originOf(slice, node), tiers) : tiers.length,
    }))
    .sort((a, b) => a.rank - b.rank || (a.slice.key < b.slice.key ? -1 : 1))
    .map(({ slice }) => slice);
  let left = rules - importCost(fact);
  const within: SliceFact[] = [];
  for (const [i, slice] of nearest.entries()) {
    const { fixed, endpoint } = sliceCosts(slice, fact);
    const { length } = slice.endpoints;
    left -= fixed + length * endpoint;
    if (left >= 0) {
      within.push(slice);
      continue;
    }
    const missing = endpoint === 0 ? length : Math.ceil(-left / endpoint);
    const kept = isUsable(slice) ? Math.max(0, length - missing) : 0;
    if (kept > 0) within.push({ ...slice, endpoints: slice.endpoints.first(kept) });
    const farther = nearest.slice(i + 1).map((whole) => ({ slice: whole, kept: 0 }));
    return { within, beyond: [{ slice, kept }, ...farther] };
  }
  return { within, beyond: [] };
}
