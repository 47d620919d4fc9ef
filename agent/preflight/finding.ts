import type { Family } from "../../api/address.ts";
import type { NodeCheck } from "../../api/agent-page.ts";
import type { Reason } from "../../api/reasons.ts";

/** Names of checks on /readyz, and values of the label `check`. */
export const CHECKS = [
  "tools",
  "extensions",
  "lock",
  "node",
  "route",
  "forwarding",
  "service-range",
  "pods",
  "bridge",
  "invalid",
  "conntrack",
  "reach",
] as const;
/** One of `CHECKS`. */
export type CheckName = (typeof CHECKS)[number];

/** What a finding is about. */
export interface FindingKey {
  readonly check: CheckName;
  /** Absent if the check covers both families. */
  readonly family?: Family;
}

/**
 * The result of one check. No finding makes the node unready or stops the agent from programming rules: each affects a part
 * of the traffic only. A fault that affects all traffic fails the first sync and is reported there.
 */
export interface Finding extends FindingKey {
  /** `unknown`: the check could not run, or there was nothing to check; this is no alarm. */
  readonly state: "ok" | "failing" | "unknown";
  /** Absent if the state is ok. */
  readonly reason?: Reason;
  /** What is wrong and which setting fixes it. If the state is ok: what was found, if that tells more. */
  readonly advice?: string;
}

/** `route-IPv4`: unique among the findings of one run. */
export function findingName({ check, family }: FindingKey): string {
  return family === undefined ? check : `${check}-${family}`;
}

/** A finding as a remark on the node. */
export function findingCheck(finding: Finding): NodeCheck {
  const name = `preflight-${findingName(finding)}`;
  const { state, reason, advice } = finding;
  return {
    ...{ name, state },
    ...(reason !== undefined && { reason }),
    ...(advice !== undefined && { detail: advice }),
  };
}

const WORST_FIRST = ["failing", "unknown", "ok"] as const;

/** The worst finding of one check of several ranges of a family; of equal ones, the first. */
export function worst([first, ...others]: readonly Finding[]): Finding {
  if (first === undefined) throw new TypeError("no finding");
  const rank = ({ state }: Finding) => WORST_FIRST.indexOf(state);
  return others.reduce((bad, one) => (rank(one) < rank(bad) ? one : bad), first);
}

/** The check passed. */
export function ok(key: FindingKey, found?: string): Finding {
  return { ...key, state: "ok", ...(found !== undefined && { advice: found }) };
}

/** The check failed. */
export function failing(key: FindingKey, reason: Reason, advice: string): Finding {
  return { ...key, state: "failing", reason, advice };
}

/** The check could not run. */
export function unknown(key: FindingKey, advice: string): Finding {
  return { ...key, state: "unknown", reason: "not-tested", advice };
}
