import type { Family } from "../../api/address.ts";
import { type Check, check } from "../../common/checks.ts";
import type { FamilyProgress } from "../sync/agent.ts";

/** What the agent knows of its own state. Times are milliseconds of its clock. */
export interface AgentState {
  /** True once every source has listed. */
  readonly listed: boolean;
  readonly families: ReadonlyMap<Family, FamilyProgress>;
}

/** kube-proxy's rule (twice its sync period): a change that is older than that is not on its way but lost. */
const LONGEST_WAIT = 60_000;
/**
 * Everything that a pass waits for has a timeout, and all of them together are far shorter: a pass that takes
 * longer hangs by a fault of the agent's own.
 */
const LONGEST_PASS = 300_000;

/**
 * Whether this node sends ClusterSetIP traffic where it should. Having nothing to do is being ready; so is
 * failing for a while, because the kernel goes on with what it has. PURE.
 */
export function readiness(state: AgentState, now: number): Check[] {
  const checks: Check[] = [check("sources", state.listed, "not-listed")];
  for (const [family, { synced, doubted, oldestWaiting = now }] of state.families) {
    const unsynced = doubted === undefined ? "not-synced" : "mass-loss";
    checks.push(check(`first-sync-${family}`, synced, unsynced));
    checks.push(check(`changes-${family}`, now - oldestWaiting <= LONGEST_WAIT, "change-waiting"));
  }
  return checks;
}

/**
 * Whether the agent should be left alone. Only a pass that never ends is cured by a restart: a kernel that
 * refuses, or a source that does not answer, would refuse the next process as well. An event loop that hangs
 * does not answer at all, and fails the probe by that. PURE.
 */
export function liveness(state: AgentState, now: number): Check[] {
  return [...state.families].map(([family, { passSince = now }]) =>
    check(`pass-${family}`, now - passSince <= LONGEST_PASS, "pass-stuck"),
  );
}
