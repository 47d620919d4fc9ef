import { namesOf, type ObjectKey, objectKey } from "../../api/names.ts";
import type { Clock } from "../../common/clock.ts";
import type { ControllerConfig } from "../config/config.ts";
import { type AgentPodFact, type NodeFact, parseAgentPod, parseNode } from "../model/parse-node.ts";
import type { Dirty } from "../model/task.ts";
import type { Observer } from "../observe/observer.ts";
import type { AgentState, NodeSituation } from "../startup-taint/startup-taint.ts";
import { FactStore } from "../stores/fact-store.ts";
import { type Follow, Informer } from "../stores/informer.ts";
import { agentPodsQuery, NODES_QUERY } from "../stores/resources.ts";

/** Dependencies of `LocalNodes`. */
export interface LocalNodesOptions {
  readonly config: Pick<ControllerConfig, "namespace" | "startupTaint">;
  readonly clock: Pick<Clock, "now">;
  readonly follow: Follow;
  readonly dirty: Dirty;
  /** The pod ranges of a node may have changed. */
  readonly ranges: () => void;
  readonly events: Pick<Observer, "connection" | "problems">;
}

/** What was seen of a node over time. Times of the monotonic clock. */
interface NodeHistory {
  readonly bootId: string | undefined;
  readonly taintedSince: number | undefined;
  /** When a restart was seen, after which the node had no taint yet. */
  readonly restartedAt: number | undefined;
}

/**
 * The Nodes of the local cluster, and the agents' pods on them, which are followed for the startup taint only. Nothing waits for
 * either, which may be forbidden. Every replica sees restarts, so that a new leader knows of them; one while no replica runs
 * is not seen, and the node is then as without the startup taint.
 */
export class LocalNodes {
  readonly #options: LocalNodesOptions;
  readonly #nodes: FactStore<NodeFact>;
  readonly #agents: FactStore<AgentPodFact>;
  readonly #informers: readonly Informer[];
  readonly #histories = new Map<string, NodeHistory>();

  constructor(options: LocalNodesOptions) {
    const { config, dirty, events, follow } = options;
    this.#options = options;
    const problems = events.problems.bind(events, undefined);
    this.#nodes = new FactStore({
      parse: parseNode,
      changed: ({ key, fact }) => {
        options.ranges();
        this.#changed(key, fact);
      },
      problems,
    });
    this.#agents = new FactStore({
      parse: parseAgentPod,
      groupOf: (_key, _object, fact) => fact && nodeKey(fact.node),
      changed: ({ group }) => {
        if (group !== undefined && this.#isOfInterest(group)) dirty("node", group);
      },
      problems,
    });
    const nodes = new Informer({ query: NODES_QUERY, sink: this.#nodes, follow });
    const pods = agentPodsQuery(config.namespace);
    // With startup taints, an operator has to know that the controller sees no agent.
    const state = events.connection.bind(events, undefined);
    this.#informers =
      config.startupTaint === "never"
        ? [nodes]
        : [nodes, new Informer({ query: pods, sink: this.#agents, follow, state })];
  }

  start(): void {
    for (const informer of this.#informers) informer.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.stop()));
  }

  /** All Nodes. */
  facts(): Iterable<NodeFact> {
    return this.#nodes.facts();
  }

  /** Undefined if there is no such Node. */
  fact(name: string): NodeFact | undefined {
    return this.#nodes.fact(name);
  }

  /** Stores the response to a write of a Node. */
  wrote(object: unknown): void {
    this.#informers[0]?.reflector.wrote(object);
  }

  /** Names of Nodes whose taint may have to change. */
  *due(): Iterable<string> {
    for (const { name } of this.#nodes.facts()) if (this.#isOfInterest(nodeKey(name))) yield name;
  }

  /** What the taint of a Node depends on; undefined if there is no such Node. */
  situation(name: string): NodeSituation | undefined {
    const node = this.#nodes.fact(name);
    if (node === undefined) return undefined;
    const { restartedAt, taintedSince } = this.#histories.get(name) ?? {};
    const now = this.#options.clock.now();
    return {
      isTainted: node.isTainted,
      agent: this.#agentOf(name),
      taintedFor: taintedSince === undefined ? 0 : now - taintedSince,
      restartedFor: restartedAt === undefined ? undefined : now - restartedAt,
    };
  }

  #agentOf(name: string): AgentState {
    const pods = this.#agents.factsOf(nodeKey(name));
    if (pods.length === 0) return "missing";
    return pods.some(({ isReady }) => isReady) ? "ready" : "not-ready";
  }

  #changed(name: string, node: NodeFact | undefined): void {
    const { clock, config, dirty } = this.#options;
    if (config.startupTaint === "never") return;
    const before = this.#histories.get(name);
    if (node === undefined) this.#histories.delete(name);
    else this.#histories.set(name, this.#historyOf(node, before, clock.now()));
    // Also of a Node that is gone: it is not counted any more.
    if (isOfInterest(before) || this.#isOfInterest(nodeKey(name))) dirty("node", nodeKey(name));
  }

  #historyOf(
    { bootId, isTainted }: NodeFact,
    before: NodeHistory | undefined,
    now: number,
  ): NodeHistory {
    const last = before?.bootId;
    const isRestarted =
      this.#options.config.startupTaint === "restarted-nodes" &&
      last !== undefined &&
      bootId !== undefined &&
      bootId !== last;
    const restartedAt = isRestarted ? now : before?.restartedAt;
    return {
      bootId: bootId ?? last,
      taintedSince: isTainted ? (before?.taintedSince ?? now) : undefined,
      // Once for each restart: a user who removes the taint afterwards has decided.
      restartedAt: isTainted ? undefined : restartedAt,
    };
  }

  #isOfInterest(key: ObjectKey): boolean {
    return isOfInterest(this.#histories.get(namesOf(key).name));
  }
}

/** True if the taint may have to change. */
function isOfInterest(history: NodeHistory | undefined): boolean {
  return history?.taintedSince !== undefined || history?.restartedAt !== undefined;
}

/** The key of a Node in the queue: it has no namespace. */
export function nodeKey(name: string): ObjectKey {
  return objectKey("", name);
}
