import { gcd } from "../../api/gcd.ts";
import type { ImportFact } from "../model/facts.ts";
import type { Candidate } from "./candidates.ts";
import type { Share } from "./virtual-service.ts";

/** The candidates of one tier that get traffic, and how it is divided. */
export interface Shared {
  readonly chosen: readonly Candidate[];
  /** Absent if all endpoints are equal. */
  readonly shares?: readonly Share[];
}

/** The weight of a candidate's cluster: 0 if weights do not name it, 1 without weights. */
export function weightOf({ origin }: Candidate, weights: ImportFact["clusterWeights"]): number {
  return weights === undefined ? 1 : (weights.get(origin.cluster ?? "") ?? 0);
}

/**
 * Divides the traffic of a tier by the weights of its clusters. Clusters without a weight get some only if no other cluster of the tier has a
 * candidate; all endpoints are then equal.
 */
export function sharesOf(
  candidates: readonly Candidate[],
  weights: ImportFact["clusterWeights"],
): Shared {
  if (weights === undefined) return { chosen: candidates };
  const chosen = candidates.filter((one) => weightOf(one, weights) > 0);
  if (chosen.length === 0) return { chosen: candidates };
  const found = new Map(chosen.map((one) => [one.origin.cluster ?? "", weightOf(one, weights)]));
  if (found.size === 1) return { chosen };
  const divisor = [...found.values()].reduce(gcd);
  const shares = [...found].map(([cluster, weight]) => ({ cluster, weight: weight / divisor }));
  return { chosen, shares: shares.sort((a, b) => (a.cluster < b.cluster ? -1 : 1)) };
}
