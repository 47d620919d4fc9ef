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

/**
 * An Event if another cluster decides now although the previous one still exports the Service: usually an older age
 * appeared, which nothing can verify. `before`, `now`: the exporting clusters, the one that decides first.
 */
export function deciderEvents(before: readonly string[], now: readonly string[]): ConditionEvent[] {
  const [was] = before;
  const [is] = now;
  if (was === undefined || is === undefined || was === is || !now.includes(was)) return [];
  const message = `Cluster ${is} decides conflicts now, instead of ${was}, which still exports the Service: its export is older, or --deciding-cluster names it.`;
  return [{ level: "Warning", reason: "DecidingClusterChanged", message }];
}
