import { isUsage, usageText } from "../../common/config/usage.ts";
import type { Logger } from "../../common/log.ts";
import type { AgentConfig } from "../config/config.ts";
import { nodeFact } from "../config/node-fact.ts";
import type { NodeFact, NodeSight } from "../model/facts.ts";

/** What a `HomeNode` is made of. */
export interface HomeNodeOptions {
  readonly config: AgentConfig;
  /** Addresses of the API server. */
  readonly addresses: readonly string[];
  /** What is known at the start. */
  readonly first: NodeFact;
  readonly log: Logger;
}

/**
 * What this node is, followed while the agent runs. Logs what became different. What is seen must not make
 * an agent stop that runs: a sight that contradicts the operator is told, and what was known before stays.
 */
export class HomeNode {
  readonly #options: HomeNodeOptions;
  #fact: NodeFact;
  #refused = "";
  /** True once everything that can be known of the node has been told. */
  #listed = false;

  constructor(options: HomeNodeOptions) {
    this.#options = options;
    this.#fact = options.first;
  }

  /** What the node is, as it is seen now. */
  of(sight: NodeSight): NodeFact {
    const { config, addresses, log } = this.#options;
    const next = nodeFact(config, addresses, sight);
    const refused = isUsage(next) ? usageText(next).trimEnd() : "";
    if (refused !== "" && refused !== this.#refused) {
      log.error("What is seen of this node contradicts a flag; what was known of it is kept.", {
        node: config.nodeName,
        fault: refused,
      });
    }
    if (refused === "" && this.#refused !== "") {
      log.info("What is seen of this node contradicts no flag any more.", {
        node: config.nodeName,
      });
    }
    this.#refused = refused;
    if (isUsage(next)) return this.#fact;
    const before = this.#fact;
    this.#fact = next;
    if (this.#listed && placeOf(before) !== placeOf(next)) this.#tellPlace(before);
    return next;
  }

  /** All that can be known was told: what is missing now is missing. */
  listed(): void {
    this.#listed = true;
    this.#tellPlace();
  }

  #tellPlace(before?: NodeFact): void {
    const { config, log } = this.#options;
    // Of a directory of manifests, the flags have told already: nothing else names a place.
    if (config.objects?.kind !== "kubernetes") return;
    const { name: node, cluster, region, zone } = this.#fact;
    const was = before && { was: placeOf(before) };
    log.info("This is where the node is.", { node, cluster, region, zone, ...was });
    if (cluster === undefined) {
      log.warn("Nobody names this cluster: no endpoint counts as local.", {
        expected: "--cluster-id, or ClusterProperty cluster.clusterset.k8s.io",
      });
    }
    if (region === undefined) {
      log.warn("Nobody names this node's region: no endpoint counts as regional.", {
        expected: `--region, or the label topology.kubernetes.io/region of Node ${node}`,
      });
    }
  }
}

function placeOf({ cluster, region, zone }: NodeFact): string {
  return [cluster, region, zone].map((part) => part ?? "?").join("/");
}
