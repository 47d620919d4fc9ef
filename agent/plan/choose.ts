import type { Reason } from "../../api/reasons.ts";
import type { ImportFact, TrafficDistribution } from "../model/facts.ts";
import type { Candidate } from "./candidates.ts";
import { unansweringOf } from "./unanswering.ts";
import type { PortReason } from "./virtual-service.ts";

/** An import's policies for the choice among its endpoints. */
export type ChoicePolicy = Pick<ImportFact, "nodeLocal" | "trafficDistribution">;

/** The endpoints that take new connections on one port, and the reasons for excluding the others. */
export interface Choice {
  readonly reason: PortReason;
  /** Index of the active tier; absent if no endpoint can take a connection. */
  readonly tier?: number;
  readonly chosen: readonly Candidate[];
  /** All ready endpoints that the policies allow, of any tier; those that do not answer only if one of them is chosen. */
  readonly ready: readonly Candidate[];
  readonly excluded: readonly { readonly candidate: Candidate; readonly reason: Reason }[];
}

/**
 * Chooses the nearest tier with a ready endpoint, else the nearest with a serving one (KEP-1669, extended to tiers), else the same among
 * those that do not answer. The policies restrict the choice to this node, or prefer its node or zone inside the tier.
 */
export function choose(candidates: readonly Candidate[], policy: ChoicePolicy): Choice {
  const { distinct, duplicates } = deduplicate(candidates);
  const eligible = policy.nodeLocal ? distinct.filter((c) => c.onThisNode) : distinct;
  const unanswering = unansweringOf(eligible);
  const { reason, usable } = best(eligible, unanswering);
  if (reason === undefined) {
    const excluded = distinct.map((c) => ({ candidate: c, reason: exclusion(c, policy) }));
    const none = policy.nodeLocal ? "no-endpoint-on-node" : "no-endpoint";
    return { reason: none, chosen: [], ready: [], excluded: [...excluded, ...duplicates] };
  }
  const tier = usable.reduce((nearest, c) => Math.min(nearest, c.tier), Number.POSITIVE_INFINITY);
  const narrowed = narrow(
    usable.filter((c) => c.tier === tier),
    policy.trafficDistribution,
  );
  const last = reason === "nearest-unanswering";
  const used = { unanswering: last ? new Set<Candidate>() : unanswering };
  const isReady = usable.every((c) => c.condition === "ready");
  const active = { tier, ready: isReady, narrowedTo: narrowed.to, ...used };
  const chosen = new Set(narrowed.chosen);
  const excluded = distinct
    .filter((c) => !chosen.has(c))
    .map((c) => ({ candidate: c, reason: exclusion(c, policy, active) }));
  const ready = eligible.filter((c) => c.condition === "ready" && !used.unanswering.has(c));
  return {
    ...{ reason, tier, chosen: narrowed.chosen, ready },
    excluded: [...excluded, ...duplicates],
  };
}

/** The best candidates of any tier, and why; no reason if none can take a connection. */
function best(eligible: readonly Candidate[], unanswering: ReadonlySet<Candidate>) {
  const isReady = (c: Candidate) => c.condition === "ready";
  const accepts = (c: Candidate) => c.condition !== "not-ready";
  const answers = (c: Candidate) => !unanswering.has(c);
  const classes = [
    ["nearest-ready", (c: Candidate) => isReady(c) && answers(c)],
    ["nearest-serving", (c: Candidate) => accepts(c) && answers(c)],
    ["nearest-unanswering", isReady],
    ["nearest-unanswering", accepts],
  ] as const;
  for (const [reason, belongs] of classes) {
    const usable = eligible.filter(belongs);
    if (usable.length > 0) return { reason, usable };
  }
  return { reason: undefined, usable: [] };
}

/** The reason for excluding a candidate; without `active`, none was chosen. */
function exclusion(
  c: Candidate,
  policy: ChoicePolicy,
  active?: {
    readonly tier: number;
    /** False if serving endpoints take the traffic. */
    readonly ready: boolean;
    readonly narrowedTo: Reason | undefined;
    /** Candidates that are used last. */
    readonly unanswering: ReadonlySet<Candidate>;
  },
): Reason {
  if (c.condition === "not-ready") return "not-ready";
  if (policy.nodeLocal && !c.onThisNode) return "other-node";
  if (active !== undefined && c.tier > active.tier) return "farther-tier";
  if (active?.unanswering.has(c)) return "unanswering";
  if (active?.ready === true && c.condition !== "ready") {
    return c.returning && c.condition === "serving" ? "returning" : c.condition;
  }
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
 * An address and port is one destination, to which routing prefers the nearest cluster: so the nearest candidate counts, in
 * any condition. Among equals, the better condition counts, then the first by name, then the nearer endpoint; never the
 * order of a list, which the API does not guarantee.
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
