import { inSeconds } from "../../api/count.ts";
import { TAINT_AGENT_NOT_READY } from "../../api/keys.ts";
import type { Reason } from "../../api/reasons.ts";
import type { ConditionEvent } from "../import/condition-events.ts";
import { isStartupTaint } from "../model/parse-node.ts";

/** Milliseconds with the taint after which a missing agent is reported. */
export const LATE_MS = 60_000;

/** For which nodes the controller changes the taint. `new-nodes`: removes it; `restarted-nodes`: also adds it after a restart. */
export const STARTUP_TAINTS = ["never", "new-nodes", "restarted-nodes"] as const;

/** The agent of a node: whether a pod of it is ready there, or none is, or there is no pod. */
export type AgentState = "ready" | "not-ready" | "missing";

/** What the taint of a node depends on. Times in milliseconds. */
export interface NodeSituation {
  readonly isTainted: boolean;
  readonly agent: AgentState;
  /** For how long the taint has been seen. */
  readonly taintedFor: number;
  /** Since a restart that was seen, and after which the node had no taint yet; undefined: there was none. */
  readonly restartedFor: number | undefined;
}

/** Whether a node is to have the taint, and why. */
export interface TaintDecision {
  readonly reason: Extract<
    Reason,
    | "agent-awaited"
    | "agent-late"
    | "agent-overdue"
    | "agent-ready"
    | "node-in-use"
    | "node-restarted"
  >;
  readonly isTainted: boolean;
  /** Milliseconds after which time alone may change the decision; absent: never. */
  readonly next?: number;
}

/**
 * Decides whether a node is to have the taint. The taint delays pods and never keeps them away for good: after `timeout`
 * milliseconds it is removed, because an agent that cannot start must not take all new nodes out of service.
 */
export function decideTaint(
  { isTainted, agent, taintedFor, restartedFor }: NodeSituation,
  timeout: number,
): TaintDecision {
  if (agent === "ready") return { reason: "agent-ready", isTainted: false };
  if (isTainted) {
    if (taintedFor >= timeout) return { reason: "agent-overdue", isTainted: false };
    if (taintedFor < LATE_MS) {
      const next = Math.min(LATE_MS, timeout) - taintedFor;
      return { reason: "agent-awaited", isTainted: true, next };
    }
    return { reason: "agent-late", isTainted: true, next: timeout - taintedFor };
  }
  // A node without a pod of the agent, such as one that its DaemonSet leaves out, would wait for nothing.
  const isRestarted = restartedFor !== undefined && restartedFor < timeout;
  if (isRestarted && agent === "not-ready") return { reason: "node-restarted", isTainted: true };
  return { reason: "node-in-use", isTainted: false };
}

/** The taints of a node with the startup taint, or without it; undefined: they already are as they should be. */
export function changedTaints(
  taints: readonly unknown[],
  isTainted: boolean,
): readonly unknown[] | undefined {
  if (taints.some(isStartupTaint) === isTainted) return undefined;
  // As node groups set it: pods that run stay.
  if (isTainted) return [...taints, { key: TAINT_AGENT_NOT_READY, effect: "NoSchedule" }];
  return taints.filter((taint) => !isStartupTaint(taint));
}

/** The Event of a node that waits too long for its agent; none for other decisions. */
export function taintEvents(
  { reason }: TaintDecision,
  agent: AgentState,
  timeout: number,
): ConditionEvent[] {
  const why =
    agent === "missing"
      ? "has no pod of clusterset-agent that the controller can read"
      : "has a clusterset-agent that is not ready";
  if (reason === "agent-late") {
    const message = `The node ${why} after ${inSeconds(LATE_MS)}. The taint ${TAINT_AGENT_NOT_READY} keeps new pods away until the agent is ready, or for ${inSeconds(timeout)}.`;
    return [{ level: "Warning", reason: "AgentLate", message }];
  }
  if (reason !== "agent-overdue") return [];
  const message = `The node ${why} after ${inSeconds(timeout)}. The controller removes the taint ${TAINT_AGENT_NOT_READY}: connections from pods of this node to ClusterSetIPs may hang until the agent is ready.`;
  return [{ level: "Warning", reason: "AgentOverdue", message }];
}
