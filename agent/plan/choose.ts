import { compareText } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import type { ImportFact } from "../model/facts.ts";
import type { Candidate } from "./candidates.ts";
import { narrow, nearestWithEnough, sharesOf } from "./policies.ts";
import type { PortReason, Share } from "./virtual-service.ts";

/** An import's policies for the choice among its endpoints. */
export type ChoicePolicy = Pick<
  ImportFact,
  "nodeLocal" | "trafficDistribution" | "clusterWeights" | "minReady"
>;

/** The endpoints that take new connections on one port, and the reasons for excluding the others. */
export interface Choice {
  readonly reason: PortReason;
  /** Index of the active tier; absent if no endpoint can take a connection. */
  readonly tier?: number;
  readonly chosen: readonly Candidate[];
  /** Of the clusters of `chosen`; absent if all endpoints are equal. */
  readonly shares?: readonly Share[];
  /** All ready endpoints that the policies allow, of any tier, except for those that answer less certainly than the chosen ones. */
  readonly ready: readonly Candidate[];
  readonly excluded: readonly { readonly candidate: Candidate; readonly reason: Reason }[];
}

/**
 * Chooses the nearest tier with a ready endpoint, else the nearest with a serving one (KEP-1669, extended to tiers), else the same among
 * those that are suspected not to answer, and at last among those that were shown not to. The policies restrict the choice to some clusters or this node, make a tier count only if it has enough, and
 * divide its traffic. `inUse`: index of the active tier before, if that is known.
 */
export function choose(
  candidates: readonly Candidate[],
  policy: ChoicePolicy,
  inUse?: number,
): Choice {
  const { distinct, duplicates } = withoutDuplicates(candidates);
  const eligible = distinct.filter((c) => !c.walled && (c.onThisNode || !policy.nodeLocal));
  const { reason, usable } = best(eligible, policy, inUse);
  if (reason === undefined) {
    const excluded = distinct.map((c) => ({ candidate: c, reason: exclusion(c, policy) }));
    const none = noEndpoint(distinct, policy);
    return { reason: none, chosen: [], ready: [], excluded: [...excluded, ...duplicates] };
  }
  const tier = usable.reduce((nearest, c) => Math.min(nearest, c.tier), Number.POSITIVE_INFINITY);
  const { chosen, shares, passedOver } = divide(
    usable.filter((c) => c.tier === tier),
    policy,
  );
  const isReady = usable.every((c) => c.condition === "ready");
  const active = { tier, ready: isReady, passedOver, silent: usable[0]?.silent };
  const excluded = distinct
    .filter((c) => !chosen.has(c))
    .map((c) => ({ candidate: c, reason: exclusion(c, policy, active) }));
  const ready = eligible.filter((c) => c.condition === "ready" && !isMoreSilent(c, active));
  return {
    ...{ reason, tier, chosen: distinct.filter((c) => chosen.has(c)), ready },
    ...(shares && { shares }),
    excluded: [...excluded, ...duplicates],
  };
}

/** The best candidates of any tier that counts, and why; no reason if none can take a connection. */
function best(
  eligible: readonly Candidate[],
  { minReady }: ChoicePolicy,
  inUse: number | undefined,
): { reason: PortReason | undefined; usable: readonly Candidate[] } {
  const isReady = (c: Candidate) => c.condition === "ready";
  const accepts = (c: Candidate) => c.condition !== "not-ready";
  const isBest = (c: Candidate) => isReady(c) && c.silent === undefined;
  if (minReady !== undefined) {
    const tier = nearestWithEnough(eligible, isBest, minReady, inUse) ?? Number.NaN;
    const usable = eligible.filter((c) => isBest(c) && c.tier === tier);
    const isNearest = !eligible.some((c) => isBest(c) && c.tier < tier);
    const reason = isNearest ? "nearest-ready" : "nearest-enough-ready";
    if (usable.length > 0) return { reason, usable };
  }
  const classes = [
    ["nearest-ready", undefined, isReady],
    ["nearest-serving", undefined, accepts],
    ["nearest-unanswering", "suspected", isReady],
    ["nearest-unanswering", "suspected", accepts],
    ["nearest-unanswering", "shown", isReady],
    ["nearest-unanswering", "shown", accepts],
  ] as const;
  for (const [reason, silent, belongs] of classes) {
    const usable = eligible.filter((c) => c.silent === silent && belongs(c));
    if (usable.length > 0) return { reason, usable };
  }
  return { reason: undefined, usable: [] };
}

/** Divides the traffic of a tier among its clusters, and prefers near endpoints: with shares, inside each cluster. */
function divide(candidates: readonly Candidate[], policy: ChoicePolicy) {
  const passedOver = new Map<Candidate, Reason>();
  const { chosen: sharing, shares } = sharesOf(candidates, policy.clusterWeights);
  if (sharing.length < candidates.length) {
    for (const c of candidates) passedOver.set(c, "zero-weight");
  }
  const groups = shares ? Map.groupBy(sharing, (c) => c.origin.cluster).values() : [sharing];
  const chosen = new Set<Candidate>();
  for (const group of groups) {
    const near = narrow(group, policy.trafficDistribution);
    if (near.to) for (const c of group) passedOver.set(c, near.to);
    for (const c of near.chosen) chosen.add(c);
  }
  return { chosen, shares, passedOver };
}

function noEndpoint(distinct: readonly Candidate[], { nodeLocal }: ChoicePolicy): PortReason {
  if (nodeLocal) return "no-endpoint-on-node";
  const isHeldBack = distinct.some((c) => c.walled && c.condition !== "not-ready");
  return isHeldBack ? "no-selected-endpoint" : "no-endpoint";
}

/** The reason for excluding a candidate; without `active`, none was chosen. */
function exclusion(
  c: Candidate,
  policy: ChoicePolicy,
  active?: {
    readonly tier: number;
    /** False if serving endpoints take the traffic. */
    readonly ready: boolean;
    /** Candidates of the active tier, with the reason why they get nothing if they are not chosen. */
    readonly passedOver: ReadonlyMap<Candidate, Reason>;
    /** Whether the candidates that take the traffic answer. */
    readonly silent: Candidate["silent"];
  },
): Reason {
  if (c.walled) return "unselected";
  if (c.condition === "not-ready") return "not-ready";
  if (policy.nodeLocal && !c.onThisNode) return "other-node";
  if (active !== undefined && c.tier > active.tier) return "farther-tier";
  if (active !== undefined && isMoreSilent(c, active)) return "unanswering";
  if (active?.ready === true && c.condition !== "ready") {
    return c.returning && c.condition === "serving" ? "returning" : c.condition;
  }
  if (active !== undefined && c.tier < active.tier) return "too-few-ready";
  return active?.passedOver.get(c) ?? "not-ready";
}

/** True if it is less certain than of `other` that the candidate answers. */
function isMoreSilent(
  { silent }: Candidate,
  other: { readonly silent: Candidate["silent"] | undefined },
): boolean {
  const order = [undefined, "suspected", "shown"];
  return order.indexOf(silent) > order.indexOf(other.silent);
}

/**
 * An address and port is one destination, to which routing prefers the nearest cluster: so the nearest candidate counts, in
 * any condition. Among equals, the better condition counts, then the first by name, then the nearer endpoint; never the
 * order of a list, which the API does not guarantee.
 */
function withoutDuplicates(candidates: readonly Candidate[]) {
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

function nearness({ onThisNode, inThisZone }: Candidate): number {
  return 2 * Number(onThisNode) + Number(inThisZone);
}

function byDestination(a: Candidate, b: Candidate): number {
  return compareText(a.address, b.address) || a.port - b.port;
}
