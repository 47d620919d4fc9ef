import { REASONS } from "../../api/reasons.ts";
import type { ConditionEvent } from "../import/condition-events.ts";
import type { FailoverReason, FailoverWanted } from "./failover-of.ts";

/** Clusters that a message names. */
const MOST_NAMED = 10;

/** Reasons for which a Service has failover slices. */
const PREPARED: readonly FailoverReason[] = ["failover-limit", "failover-prepared"];
const QUIET: readonly FailoverReason[] = ["import-missing", "not-heard"];

/** True for a result that passes by itself: what was before it counts. */
export function isQuiet({ reason }: FailoverWanted): boolean {
  return QUIET.includes(reason);
}

/** The Event of a Service whose failover has changed; undefined if it needs none. PURE. */
export function failoverEvent(wanted: FailoverWanted): ConditionEvent | undefined {
  if (isQuiet(wanted)) return undefined;
  const { reason, clusters } = wanted;
  if (!PREPARED.includes(reason)) {
    const message = `The ClusterIP does not fail over to other clusters (${reason}): ${REASONS[reason]}`;
    return { level: "Warning", reason: "FailoverNotPrepared", message };
  }
  const named = clusters.slice(0, MOST_NAMED).join(", ");
  const more = clusters.length - MOST_NAMED;
  const where = `${named}${more > 0 ? `, and ${more} more` : ""}`;
  const limit = reason === "failover-limit" ? ` Some endpoints are left out (${reason}).` : "";
  const message = `While no local endpoint is ready, the ClusterIP leads to endpoints of: ${where}.${limit}`;
  return { level: "Normal", reason: "FailoverPrepared", message };
}
