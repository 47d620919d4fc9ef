import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import type { Logger } from "../../common/log.ts";
import { registryNamespace } from "../registry/names.ts";
import { CLUSTER_PROPERTIES } from "../stores/resources.ts";
import { hintFor } from "./hint.ts";
import type { ControllerMetrics } from "./metrics.ts";

/** How the connections to API servers fare, by cluster and resource: an outage is told once, not at every try. */
export class Connections {
  readonly #log: Logger;
  readonly #metrics: ControllerMetrics;
  /** The fault that was told last, until the connection is well again. */
  readonly #lost = new Map<string, string>();

  constructor(log: Logger, metrics: ControllerMetrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  /** How one is from now on; `cluster`: it is to the registry of that one. */
  observe(cluster: string | undefined, resource: string, { reason, detail }: ReflectorState): void {
    this.#metrics.connection(cluster === undefined ? "own" : "member", resource, reason);
    const source = `${cluster ?? ""} ${resource}`;
    const lost = this.#lost.get(source);
    const fields = {
      ...(cluster !== undefined && { cluster, namespace: registryNamespace(cluster) }),
      resource,
      reason,
      ...(detail !== undefined && { detail }),
      ...(cluster !== undefined && hintFor(reason)),
    };
    if (!isUsual(resource, reason) && reason !== lost) {
      this.#lost.set(source, reason);
      this.#log.warn("An API server is not followed; what is known stays.", fields);
    } else if (reason === "watching" && lost !== undefined) {
      this.#lost.delete(source);
      this.#log.info("An API server is followed again.", { ...fields, was: lost });
    } else this.#log.debug("A connection is in another state.", fields);
  }
}

/** True for what a connection passes through when nothing is wrong. */
function isUsual(resource: string, reason: ReflectorState["reason"]): boolean {
  // Not every cluster has the kind.
  if (resource === CLUSTER_PROPERTIES.resource && reason === "not-served") return true;
  return ["watching", "listing", "expired"].includes(reason);
}
