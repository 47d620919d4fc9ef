import type { Family } from "../../api/address.ts";
import type { Reason } from "../../api/reasons.ts";

/** What is looked at: names of checks on /readyz, and values of the label `check`. */
export const CHECKS = [
  "tools",
  "extensions",
  "lock",
  "route",
  "forwarding",
  "service-range",
  "pods",
  "conntrack",
] as const;
/** One of `CHECKS`. */
export type CheckName = (typeof CHECKS)[number];

/**
 * What one look at the node found. None makes the node unready, and none keeps the agent from writing: each
 * concerns some of the traffic only, and for the rest rules that are there are better than none. What lets nothing
 * work at all fails the first sync, and shows there.
 */
export interface Verdict {
  readonly check: CheckName;
  /** Absent if both families share what was looked at. */
  readonly family?: Family;
  /** `unknown`: it could not be looked at, or nothing is there to look at; nobody is alarmed by it. */
  readonly state: "well" | "failing" | "unknown";
  /** Why it is not well. */
  readonly reason?: Reason;
  /** What is wrong, and which setting mends it: sentences for whoever has to. */
  readonly advice?: string;
}

/** `route-IPv4`: what tells one verdict from the others. */
export function verdictName({ check, family }: Verdict): string {
  return family === undefined ? check : `${check}-${family}`;
}

/** A verdict as a line of `/readyz?verbose`. PURE. */
export function verdictLine(verdict: Verdict): string {
  const name = `preflight-${verdictName(verdict)}`;
  if (verdict.state === "well") return `[+]${name} ok`;
  const mark = verdict.state === "failing" ? "[-]" : "[?]";
  return `${mark}${name} ${verdict.reason}: ${verdict.advice}`;
}

/** What a verdict is about. */
export type Place = Pick<Verdict, "check" | "family">;

/** Nothing is wrong. */
export function well(place: Place): Verdict {
  return { ...place, state: "well" };
}

/** Something is wrong. */
export function failing(place: Place, reason: Reason, advice: string): Verdict {
  return { ...place, state: "failing", reason, advice };
}

/** It cannot be told. */
export function unknown(place: Place, advice: string): Verdict {
  return { ...place, state: "unknown", reason: "not-tested", advice };
}
