import { gcd } from "../../api/gcd.ts";
import type { Reason } from "../../api/reasons.ts";
import type { ImportFact, MinReady, TrafficDistribution } from "../model/facts.ts";
import type { Candidate } from "./candidates.ts";
import type { Share } from "./virtual-service.ts";

/** The candidates that `trafficDistribution` prefers, and why the others are excluded; without a reason, there are none. */
interface Narrowed {
  readonly chosen: readonly Candidate[];
  readonly to?: Extract<Reason, "other-node" | "other-zone">;
}

/** KEP-3015: the same node, else the same zone, else all; PreferSameZone starts with the zone. */
export function narrow(
  candidates: readonly Candidate[],
  distribution: TrafficDistribution | undefined,
): Narrowed {
  if (distribution === undefined) return { chosen: candidates };
  const here = candidates.filter((c) => c.onThisNode);
  if (distribution === "PreferSameNode" && here.length > 0)
    return { chosen: here, to: "other-node" };
  const near = candidates.filter((c) => c.inThisZone);
  if (near.length > 0) return { chosen: near, to: "other-zone" };
  return { chosen: candidates };
}

/** The part of the needed endpoints with which a tier in use stays in use, so that one that flaps moves nothing. */
const STAYS = 3 / 4;

/**
 * The nearest tier, by index, that has enough ready endpoints; undefined if none has. That is what `minReady` asks for, and for the tier in use
 * three quarters of it, at least one endpoint less.
 */
export function nearestWithEnough(
  candidates: readonly Candidate[],
  isUsable: (candidate: Candidate) => boolean,
  minReady: MinReady,
  inUse: number | undefined,
): number | undefined {
  const enough: number[] = [];
  for (const [tier, members] of Map.groupBy(candidates, (one) => one.tier)) {
    const listed = members.filter(({ condition }) => condition !== "terminating").length;
    const needed = neededOf(minReady, listed);
    const ready = members.filter(isUsable).length;
    if (ready >= (tier === inUse ? staysWith(needed) : needed)) enough.push(tier);
  }
  return enough.length === 0 ? undefined : Math.min(...enough);
}

function staysWith(needed: number): number {
  return Math.max(1, Math.min(needed - 1, Math.ceil(needed * STAYS)));
}

/** The candidates of one tier that get traffic, and how it is divided. */
interface Shared {
  readonly chosen: readonly Candidate[];
  /** Absent if all endpoints are equal. */
  readonly shares?: readonly Share[];
}

/** The weight of a candidate's cluster: 0 if weights do not name it, 1 without weights. */
function weightOf({ origin }: Candidate, weights: ImportFact["clusterWeights"]): number {
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

/** The number of ready endpoints that a tier with `listed` endpoints needs: at least one. */
function neededOf(minReady: MinReady, listed: number): number {
  if ("endpoints" in minReady) return minReady.endpoints;
  return Math.max(1, Math.ceil((minReady.percent * listed) / 100));
}
