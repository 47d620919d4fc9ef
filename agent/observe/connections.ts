import { shown } from "../../api/problem.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import type { Logger } from "../../common/log.ts";
import type { AgentMetrics } from "./metrics.ts";

/**
 * How the connections to an API server fare, by resource. That one is lost is told, and fails nothing: the
 * kernel goes on with what it has, a restart would find the same server, and if every node of a cluster became
 * unready whenever its API server restarts, an outage of the one would be made one of the other.
 */
export class Connections {
  readonly #log: Logger;
  readonly #metrics: AgentMetrics;
  readonly #states = new Map<string, ReflectorState>();
  /** By resource: the fault that was told last, until the connection is well again. */
  readonly #lost = new Map<string, ReflectorState["reason"]>();

  constructor(log: Logger, metrics: AgentMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  /** How the connection for `resource`, one of a few, is from now on. */
  observe(resource: string, state: ReflectorState): void {
    const { reason, detail } = state;
    this.#states.set(resource, state);
    this.#metrics.connection(resource, reason);
    const lost = this.#lost.get(resource);
    const fields = { resource, reason, ...(detail !== undefined && { detail }) };
    if (!isUsual(resource, reason)) {
      this.#lost.set(resource, reason);
      // Between two failures it tries, which is another state: an outage is told once, not at every try.
      if (lost === reason) return;
      this.#log.warn("The API server is not followed; what is known stays.", fields);
    } else if (lost !== undefined && reason === "watching") {
      this.#lost.delete(resource);
      this.#log.info("The API server is followed again.", { ...fields, was: lost });
    } else this.#log.debug("The connection to the API server is in another state.", fields);
  }

  /** Lines of `/readyz?verbose`, none of which decides the verdict. */
  remarks(): string[] {
    return [...this.#states].map(([resource, state]) => connectionLine(resource, state));
  }
}

/** `[-]source-nodes unreachable: …`. PURE. */
function connectionLine(resource: string, { reason, detail }: ReflectorState): string {
  const name = `source-${resource}`;
  if (reason === "watching") return `[+]${name} ok`;
  const why = detail === undefined ? "" : `: ${shown(detail)}`;
  return `[${isUsual(resource, reason) ? "?" : "-"}]${name} ${reason}${why}`;
}

/** A kind that not every cluster has. */
const OPTIONAL = "clusterproperties";
/** What a connection passes through when nothing is wrong. */
const USUAL: readonly ReflectorState["reason"][] = ["watching", "listing", "expired"];

function isUsual(resource: string, reason: ReflectorState["reason"]): boolean {
  return USUAL.includes(reason) || (reason === "not-served" && resource === OPTIONAL);
}
