import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "../apiserver/api-client.ts";
import type { ClusterNode } from "./cluster-node.ts";
import type { ClusterControlPlane } from "./control-plane.ts";
import { corednsObjects } from "./coredns.ts";
import type { ClusterPlan } from "./spec.ts";

/** How long a cluster may take to be ready on a machine that does other things, too. */
const PATIENCE_MS = 180_000;

interface WithStatus {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** One Kubernetes: a control plane, its Nodes, and DNS. */
export class Cluster {
  readonly plan: ClusterPlan;
  readonly plane: ClusterControlPlane;
  #nodes: readonly ClusterNode[];
  #late: readonly ClusterNode[];

  /** `late`: the names of nodes that are not there until they are added. */
  constructor(
    plan: ClusterPlan,
    plane: ClusterControlPlane,
    nodes: readonly ClusterNode[],
    late: readonly string[] = [],
  ) {
    this.plan = plan;
    this.plane = plane;
    this.#nodes = nodes.filter(({ name }) => !late.includes(name));
    this.#late = nodes.filter(({ name }) => late.includes(name));
  }

  /** All that have joined. */
  get nodes(): readonly ClusterNode[] {
    return this.#nodes;
  }

  /** cluster-1 */
  get id(): string {
    return this.plan.id;
  }

  /** May do everything. */
  get admin(): ApiClient {
    return this.plane.admin;
  }

  /** Starts everything; returns when all Nodes are Ready and DNS answers. */
  async start(): Promise<void> {
    const boots = Promise.all(this.nodes.map((node) => node.boot()));
    try {
      await this.plane.start();
      for (const object of [...this.nodes.map((node) => node.object), ...corednsObjects()]) {
        await this.admin.apply(object);
      }
    } finally {
      await boots;
    }
    for (const node of this.nodes) node.join(this.plane);
    await this.untilReady();
  }

  node(place: string): ClusterNode {
    const node = this.nodes.find(({ name }) => name === `${this.id}-${place}`);
    if (node === undefined) throw new Error(`${this.id} has no ${place}`);
    return node;
  }

  /** A node that was late comes and joins; returns when it is Ready. */
  async addNode(place: string): Promise<ClusterNode> {
    const node = this.#late.find(({ name }) => name === `${this.id}-${place}`);
    if (node === undefined) throw new Error(`${this.id} waits for no ${place}`);
    this.#late = this.#late.filter((one) => one !== node);
    await node.boot();
    await this.admin.apply(node.object);
    node.join(this.plane);
    this.#nodes = [...this.#nodes, node];
    await this.untilReady();
    return node;
  }

  /** Waits until all Nodes are Ready and the DNS server serves. */
  async untilReady(): Promise<void> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const missing = await this.#missing();
      if (missing.length === 0) return;
      if (performance.now() > end) {
        const words = [this.plane, ...this.nodes].map((one) => one.lastWords).join("\n");
        throw new Error(`${this.id}: not ready: ${missing.join(", ")}\n${words}`);
      }
      await sleep(100);
    }
  }

  async #missing(): Promise<string[]> {
    const nodes = (await this.admin.list({ apiVersion: "v1", kind: "Node" })) as WithStatus[];
    const waiting = nodes.filter(
      ({ status }) =>
        !status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"),
    );
    const dns: WithStatus = await this.admin.get({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace: "kube-system", name: "coredns" },
    });
    return [
      ...waiting.map(({ metadata }) => metadata.name),
      ...(dns.status?.readyReplicas === 1 ? [] : ["coredns"]),
    ];
  }
}
