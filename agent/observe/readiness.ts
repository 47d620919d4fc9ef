import type { Family } from "../../api/address.ts";
import type { Reason } from "../../api/reasons.ts";
import { type Check, check } from "../../common/checks.ts";
import type { FamilyProgress } from "../sync/agent.ts";

/** The agent's state. Times are milliseconds of its clock. */
export interface AgentState {
  /** True once every source has listed. */
  readonly listed: boolean;
  readonly families: ReadonlyMap<Family, FamilyProgress>;
}

/** Milliseconds after which a change that is not programmed makes the node unready: kube-proxy's rule, twice its sync period. */
const LONGEST_WAIT = 60_000;
/** Milliseconds that no step of a pass takes, besides calls of tools, unless it hangs. */
const LONGEST_STEP = 300_000;

/**
 * Whether this node forwards ClusterSetIP traffic as planned. Short failures do not count, because rules stay meanwhile. `unlisted`: why a
 * source has not listed, if known. PURE.
 */
export function readiness(
  state: AgentState,
  now: number,
  unlisted: Reason = "not-listed",
): Check[] {
  const checks: Check[] = [check("sources", state.listed, unlisted)];
  for (const [family, { synced, retained, oldestWaiting = now }] of state.families) {
    const unsynced = retained === undefined ? "not-synced" : "mass-loss";
    checks.push(check(`first-sync-${family}`, synced, unsynced));
    checks.push(check(`changes-${family}`, now - oldestWaiting <= LONGEST_WAIT, "change-waiting"));
  }
  return checks;
}

/**
 * Whether a restart would not help. It helps only if a pass hangs: a kernel that rejects rules, or a source that does not
 * respond, would do the same to the next process. If the event loop hangs, the probe times out. `toolTimeout`: milliseconds that a call of a
 * tool may take that is under way; these grow with the work, so that no number of rules makes each start fail. PURE.
 */
export function liveness(state: AgentState, now: number, toolTimeout = 0): Check[] {
  return [...state.families].map(([family, { stepSince = now }]) =>
    check(`pass-${family}`, now - stepSince <= LONGEST_STEP + toolTimeout, "pass-stuck"),
  );
}
