import type { NodeCheck } from "../../api/agent-page.ts";
import { shown } from "../../api/problem.ts";
import { isWatchFault, type ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import type { Logger } from "../../common/log.ts";
import type { AgentMetrics } from "./metrics.ts";

/**
 * The watches of an API server, by resource. A lost watch is logged and does not make the agent unready: the rules stay, a
 * restart would not help, and an outage of the API server must not become one of all nodes.
 */
export class Connections {
  readonly #log: Logger;
  readonly #metrics: AgentMetrics;
  readonly #states = new Map<string, ReflectorState>();
  /** By resource: the fault that was logged last; absent while the watch works. */
  readonly #lost = new Map<string, ReflectorState["reason"]>();

  constructor(log: Logger, metrics: AgentMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  /** The watch of `resource` entered a state. */
  observe(resource: string, state: ReflectorState): void {
    const { reason, detail } = state;
    this.#states.set(resource, state);
    // Without an earlier 0, Prometheus' increase() does not see the first.
    this.#metrics.counters.sourceStates.inc({ resource, reason: "doubtful" }, 0);
    this.#metrics.counters.sourceStates.inc({ resource, reason });
    this.#metrics.gauges.sourceWatching.set({ resource }, reason === "watching" ? 1 : 0);
    const lost = this.#lost.get(resource);
    const fields = { resource, reason, ...(detail !== undefined && { detail }) };
    if (isWatchFault(resource, reason)) {
      this.#lost.set(resource, reason);
      // Attempts between two failures are states of their own: an outage is logged once, not at every attempt.
      if (lost === reason) return;
      this.#log.warn("Watch failed; using last known state", fields);
    } else if (lost !== undefined && reason === "watching") {
      this.#lost.delete(resource);
      this.#log.info("Watch restored", { ...fields, was: lost });
    } else this.#log.debug("Watch state changed", fields);
  }

  /** Remarks on the node, which do not change the verdict of `/readyz`. */
  remarks(): NodeCheck[] {
    return [...this.#states].map(([resource, state]) => connectionCheck(resource, state));
  }
}

/** `source-nodes`, and why it is not watched. PURE. */
function connectionCheck(resource: string, { reason, detail }: ReflectorState): NodeCheck {
  const name = `source-${resource}`;
  if (reason === "watching") return { name, state: "ok" };
  const state = isWatchFault(resource, reason) ? "failing" : "unknown";
  return { name, state, reason, ...(detail !== undefined && { detail: shown(detail) }) };
}
