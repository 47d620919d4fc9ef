import type { Claim, Condition } from "../model/condition.ts";

/** A claim that people are told of by an Event. */
export interface News extends Pick<Claim, "message" | "reason"> {
  /** As an Event has it. */
  readonly level: "Normal" | "Warning";
}

/** Conditions that are bad news where they are true; all others are where they are false. */
const BAD_IF_TRUE: readonly string[] = ["Conflict"];

/**
 * Of what is claimed of an object now, what its author should hear of: what has become bad, what is good again, and that
 * an object is ready. That a new one has nothing wrong with it is no news. `seen`: the conditions before.
 */
export function newsworthy(claims: readonly Claim[], seen: readonly Condition[]): News[] {
  return claims.flatMap(({ type, status, reason, message }): News[] => {
    const before = seen.find((one) => one.type === type);
    if (before?.status === status && before.reason === reason) return [];
    const isBad = status === (BAD_IF_TRUE.includes(type) ? "True" : "False");
    const waits = reason === "Pending" && type === "Ready";
    if (isBad && !waits) return [{ level: "Warning", reason, message }];
    const isNews = type === "Ready" ? status === "True" : before !== undefined && !waits;
    return isNews ? [{ level: "Normal", reason, message }] : [];
  });
}
