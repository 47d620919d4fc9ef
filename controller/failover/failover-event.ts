import { isPartial, REASONS } from "../../api/reasons.ts";
import type { ConditionEvent } from "../import/condition-events.ts";
import type { FailoverReason, FailoverResult } from "./failover-of.ts";

/** Clusters that a message names. */
const MOST_NAMED = 10;

const QUIET: readonly FailoverReason[] = ["import-missing", "not-heard"];

/** True for a result that passes by itself: what was before it counts. */
export function isQuiet({ reason }: FailoverResult): boolean {
  return QUIET.includes(reason);
}

/** True if nothing has changed that an Event reports. `local-terminating` counts as `failover-prepared`. */
export function isSameResult(
  a: FailoverResult | undefined,
  b: FailoverResult | undefined,
): boolean {
  return lasting(a?.reason) === lasting(b?.reason) && a?.clusters.join() === b?.clusters.join();
}

/** The reason that counts after local endpoints have ended. */
function lasting(reason: FailoverReason | undefined): FailoverReason | undefined {
  return reason === "local-terminating" ? "failover-prepared" : reason;
}

/** The Event of a Service whose failover has changed; undefined if it needs none. PURE. */
export function failoverEvent(result: FailoverResult): ConditionEvent | undefined {
  if (isQuiet(result)) return undefined;
  const { reason, clusters } = result;
  if (clusters.length === 0) {
    const message = `The ClusterIP does not fail over to other clusters (${reason}): ${REASONS[reason]}`;
    return { level: "Warning", reason: "FailoverNotPrepared", message };
  }
  const named = clusters.slice(0, MOST_NAMED).join(", ");
  const more = clusters.length - MOST_NAMED;
  const where = `${named}${more > 0 ? `, and ${more} more` : ""}`;
  const remark = lasting(reason) === "failover-prepared" ? "" : ` (${reason}) ${REASONS[reason]}`;
  const message = `While no local endpoint is ready, the ClusterIP leads to endpoints of: ${where}.${remark}`;
  const level = isPartial(reason) ? "Warning" : "Normal";
  return { level, reason: "FailoverPrepared", message };
}
