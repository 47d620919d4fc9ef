import type { Claim, Condition } from "../model/condition.ts";

/** An Event about a condition. */
export interface ConditionEvent extends Pick<Claim, "message" | "reason"> {
  readonly level: "Normal" | "Warning";
}

/** Conditions that are bad if true; all others are bad if false. */
const BAD_IF_TRUE: readonly string[] = ["Conflict"];

/** Conditions that changed: became bad, became good again, or became ready. `seen`: the previous conditions. */
export function conditionEvents(
  claims: readonly Claim[],
  seen: readonly Condition[],
): ConditionEvent[] {
  return claims.flatMap(({ type, status, reason, message }): ConditionEvent[] => {
    const before = seen.find((one) => one.type === type);
    if (before?.status === status && before.reason === reason) return [];
    const isBad = status === (BAD_IF_TRUE.includes(type) ? "True" : "False");
    const waits = reason === "Pending" && type === "Ready";
    if (isBad && !waits) return [{ level: "Warning", reason, message }];
    const isNews = type === "Ready" ? status === "True" : before !== undefined && !waits;
    return isNews ? [{ level: "Normal", reason, message }] : [];
  });
}
