import type { Reason } from "../../api/reasons.ts";
import type { TrafficDistribution } from "../model/facts.ts";
import type { Candidate } from "./candidates.ts";
import type { PortReason } from "./virtual-service.ts";

/** What an import asks of the choice among its endpoints. */
export interface ChoicePolicy {
  readonly nodeLocal: boolean;
  readonly trafficDistribution?: TrafficDistribution;
}

/** Who takes new connections on one port, and why everybody else does not. */
export interface Choice {
  readonly reason: PortReason;
  /** Index of the active tier; absent if nobody can take a connection. */
  readonly tier?: number;
  readonly chosen: readonly Candidate[];
  readonly excluded: readonly { readonly candidate: Candidate; readonly reason: Reason }[];
}

/**
 * Chooses among the candidates of one port (design, section 4):
 * the first tier with a ready endpoint; if no tier has one, the first with an endpoint that still serves
 * (KEP-1669 for one tier, carried on over all of them); inside the active tier, trafficDistribution narrows
 * and never widens. `internalTrafficPolicy: Local` looks at this node's endpoints alone.
 */
export function choose(candidates: readonly Candidate[], policy: ChoicePolicy): Choice {
  const { distinct, duplicates } = deduplicate(candidates);
  const eligible = policy.nodeLocal ? distinct.filter((c) => c.onThisNode) : distinct;
  const ready = eligible.filter((c) => c.condition === "ready");
  const usable = ready.length > 0 ? ready : eligible.filter((c) => c.condition !== "not-ready");
  if (usable.length === 0) {
    const excluded = distinct.map((c) => ({ candidate: c, reason: exclusion(c, policy) }));
    const reason = policy.nodeLocal ? "no-endpoint-on-node" : "no-endpoint";
    return { reason, chosen: [], excluded: [...excluded, ...duplicates] };
  }
  const tier = usable.reduce((nearest, c) => Math.min(nearest, c.tier), Number.POSITIVE_INFINITY);
  const narrowed = narrow(
    usable.filter((c) => c.tier === tier),
    policy.trafficDistribution,
  );
  const active = { tier, ready: ready.length > 0, narrowedTo: narrowed.to };
  const chosen = new Set(narrowed.chosen);
  const excluded = distinct
    .filter((c) => !chosen.has(c))
    .map((c) => ({ candidate: c, reason: exclusion(c, policy, active) }));
  return {
    reason: active.ready ? "nearest-ready" : "nearest-serving",
    tier,
    chosen: narrowed.chosen,
    excluded: [...excluded, ...duplicates],
  };
}

/** Why a candidate that was not chosen was not; without `active`, nobody was. */
function exclusion(
  c: Candidate,
  policy: ChoicePolicy,
  active?: {
    readonly tier: number;
    /** False if endpoints that only serve take the traffic: then that is nothing against any of them. */
    readonly ready: boolean;
    readonly narrowedTo: Reason | undefined;
  },
): Reason {
  if (c.condition === "not-ready") return "not-ready";
  if (policy.nodeLocal && !c.onThisNode) return "other-node";
  if (active !== undefined && c.tier > active.tier) return "farther-tier";
  if (active?.ready === true && c.condition !== "ready") return c.condition;
  return active?.narrowedTo ?? "not-ready";
}

/** KEP-3015: the same node, else the same zone, else all; PreferSameZone starts with the zone. */
function narrow(
  candidates: readonly Candidate[],
  distribution: TrafficDistribution | undefined,
): { chosen: readonly Candidate[]; to: Reason | undefined } {
  if (distribution === undefined) return { chosen: candidates, to: undefined };
  const here = candidates.filter((c) => c.onThisNode);
  if (distribution === "PreferSameNode" && here.length > 0)
    return { chosen: here, to: "other-node" };
  const near = candidates.filter((c) => c.inThisZone);
  if (near.length > 0) return { chosen: near, to: "other-zone" };
  return { chosen: candidates, to: undefined };
}

/**
 * One address and port can be one destination only. Where pod networks overlap, routing decides where a
 * packet goes, and it prefers what is near: so the nearest claim counts, in whatever condition, because a
 * farther cluster's word must not revive an address that is not ready here. Among equals the better
 * condition counts (slices of one Service may overlap for a moment), then the first by name, and in one slice
 * the nearer: the order of a list must not decide, because whoever writes it gives no promise about it.
 */
function deduplicate(candidates: readonly Candidate[]) {
  const distinct = new Map<string, Candidate>();
  const duplicates: { candidate: Candidate; reason: Reason }[] = [];
  for (const candidate of [...candidates].sort(preferred)) {
    const destination = `${candidate.address} ${candidate.port}`;
    const winner = distinct.get(destination);
    if (winner === undefined) distinct.set(destination, candidate);
    else {
      const same = winner.origin.cluster === candidate.origin.cluster;
      duplicates.push({ candidate, reason: same ? "duplicate-endpoint" : "duplicate-address" });
    }
  }
  return { distinct: [...distinct.values()].sort(byDestination), duplicates };
}

const CONDITIONS = ["ready", "serving", "terminating", "not-ready"] as const;

function preferred(a: Candidate, b: Candidate): number {
  return (
    a.tier - b.tier ||
    CONDITIONS.indexOf(a.condition) - CONDITIONS.indexOf(b.condition) ||
    compareText(a.origin.cluster ?? "", b.origin.cluster ?? "") ||
    compareText(a.slice, b.slice) ||
    nearness(b) - nearness(a)
  );
}

function nearness({ onThisNode, inThisZone, maybeHere }: Candidate): number {
  return 4 * Number(onThisNode) + 2 * Number(inThisZone) + Number(maybeHere);
}

function byDestination(a: Candidate, b: Candidate): number {
  return compareText(a.address, b.address) || a.port - b.port;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
