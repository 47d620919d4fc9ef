import { isUsage, usageText } from "../../common/config/usage.ts";
import type { Logger } from "../../common/log.ts";
import type { AgentConfig } from "../config/config.ts";
import { nodeFact } from "../config/node-fact.ts";
import type { NodeFact, NodeObservation } from "../model/facts.ts";

/** What a `LocalNode` needs. */
export interface LocalNodeOptions {
  readonly config: AgentConfig;
  /** Addresses of the API server. */
  readonly addresses: readonly string[];
  /** The node according to the flags. */
  readonly first: NodeFact;
  readonly log: Logger;
}

/**
 * The facts about this node while the agent runs; logs where the node is, and when that changes. A node that contradicts a
 * flag does not stop a running agent: it logs an error and keeps the last facts.
 */
export class LocalNode {
  readonly #options: LocalNodeOptions;
  #fact: NodeFact;
  /** The contradiction in the last observation; empty if there is none. */
  #fault = "";
  /** True once all sources have listed. */
  #listed = false;

  constructor(options: LocalNodeOptions) {
    this.#options = options;
    this.#fact = options.first;
  }

  /** The contradiction between the node and a flag while there is one: the facts are those from before it; empty if there is none. */
  get fault(): string {
    return this.#fault;
  }

  /** The facts according to the flags and what the sources list of the node. */
  of(observation: NodeObservation): NodeFact {
    const { config, addresses, log } = this.#options;
    const next = nodeFact(config, addresses, observation);
    const fault = isUsage(next) ? usageText(next).trimEnd() : "";
    const node = config.nodeName;
    if (fault !== "" && fault !== this.#fault) {
      log.error("Node contradicts a flag; using its last known state", { node, fault });
    }
    if (fault === "" && this.#fault !== "") log.info("Node contradicts no flag now", { node });
    this.#fault = fault;
    if (isUsage(next)) return this.#fact;
    const before = this.#fact;
    this.#fact = next;
    if (this.#listed && locationOf(before) !== locationOf(next)) this.#logLocation(before);
    return next;
  }

  /** All sources have listed: what is unknown now is missing. */
  listed(): void {
    this.#listed = true;
    this.#logLocation();
  }

  #logLocation(before?: NodeFact): void {
    const { config, log } = this.#options;
    // With manifests only flags can set the location, and parsing them has logged what is missing.
    if (config.objects?.kind !== "kubernetes") return;
    const { name: node, cluster, region, zone } = this.#fact;
    const was = before && { was: locationOf(before) };
    log.info("Node location", { node, cluster, region, zone, ...was });
    if (cluster === undefined) {
      log.warn("Cluster ID unknown: no endpoint counts as local", {
        expected: "--cluster-id, or ClusterProperty cluster.clusterset.k8s.io",
      });
    }
    if (region === undefined) {
      log.warn("Region unknown: no endpoint counts as regional", {
        expected: `--region, or the label topology.kubernetes.io/region of Node ${node}`,
      });
    }
  }
}

function locationOf({ cluster, region, zone }: NodeFact): string {
  return [cluster, region, zone].map((part) => part ?? "?").join("/");
}
