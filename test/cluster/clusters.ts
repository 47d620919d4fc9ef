import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { fieldAt } from "../../api/parse/fields.ts";
import { conditionOf } from "../../cli/view/status.ts";
import type { ApiClient } from "../apiserver/api-client.ts";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { kubeconfigOf } from "../apiserver/user.ts";
import { manifest } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import { STORE } from "../lab/removal.ts";
import { pathOf } from "../lab/topology.ts";
import { ClusterNode } from "./cluster-node.ts";
import { ClusterControlPlane } from "./control-plane.ts";
import { corednsObjects } from "./coredns.ts";
import { type Cut, type CutKind, rulesOf } from "./cut.ts";
import { type BuiltImage, labImages } from "./images.ts";
import { Relay } from "./relay.ts";
import { seedOf } from "./seed.ts";
import { type ClusterPlan, type ClustersSpec, CONTROL_PLANE, labSpecOf, plansOf } from "./spec.ts";

/** How long a cluster may take to be ready on a machine that does other things, too. */
const PATIENCE_MS = 180_000;

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
    const nodes = await this.admin.list({ apiVersion: "v1", kind: "Node" });
    const waiting = nodes.filter((node) => conditionOf(node, "Ready")?.status !== "True");
    const dns = await this.admin.get(manifest("Deployment", "kube-system/coredns"));
    return [
      ...waiting.map(({ metadata }) => metadata.name),
      ...(fieldAt(dns, "status", "readyReplicas") === 1 ? [] : ["coredns"]),
    ];
  }
}

const MAX_OUTPUT = 64 * 1024 * 1024;

/** What a set of clusters begins with, besides its spec. */
export interface ClustersOptions extends ClustersSpec {
  /** Images that every node has from the beginning, besides the lab's own. */
  readonly images?: readonly BuiltImage[];
  /** Names of nodes that the network has a place for, and that are not there until `Cluster.addNode`: cluster-1-node-2. */
  readonly late?: readonly string[];
}

/**
 * Real clusters on this machine, for as long as a test lasts: etcd, kube-apiserver, kube-controller-manager, kube-scheduler,
 * and nodes with containerd, kubelet and kube-proxy, each a host of its own; CoreDNS. Their pods reach each other.
 *
 *     await using clusters = await Clusters.create({ clusters: 2, nodes: 2, regions: ["eu-west", "us-east"] });
 *     await clusters.cluster("cluster-1").admin.apply({ … });
 *
 * Needs root. Everything ends with this process, however that ends.
 */
export class Clusters implements AsyncDisposable {
  readonly lab: Lab;
  readonly all: readonly Cluster[];
  /** A kubeconfig for programs on the machine, with a context for each cluster, called like it: cluster-1. */
  readonly kubeconfig: string;
  readonly #relays: Relay[] = [];
  #cuts: readonly Cut[] = [];

  private constructor(lab: Lab, all: readonly Cluster[]) {
    this.lab = lab;
    this.all = all;
    // Not in the lab's own directory: a process with that in its environment counts as part of the lab.
    this.kubeconfig = `${STORE}/${lab.id}/kubeconfig`;
  }

  /** Brings them up side by side; returns when all Nodes are Ready and DNS answers everywhere. */
  static async create(options: ClustersOptions = {}): Promise<Clusters> {
    const plans = plansOf(options);
    const seed = await seedOf([...(await labImages()), ...(options.images ?? [])]);
    const lab = await Lab.create(labSpecOf(plans));
    const { late } = options;
    const places = new Map(lab.topology.nodes.map((one) => [pathOf(one), one]));
    const all = plans.map((plan) => {
      const host = lab.node(plan.id, CONTROL_PLANE);
      const names = plan.nodes.map(({ name }) => name);
      const plane = new ClusterControlPlane(host, `${lab.directory}/${plan.id}`, names);
      const nodes = plan.nodes.map((node) => {
        const place = places.get(`${plan.id}/${node.place}`);
        if (place === undefined) throw new Error(`no place for ${node.name}`);
        const namespace = lab.node(plan.id, node.place);
        const group = `${lab.id}/${node.name}`;
        const own = { namespace, group, directory: `${STORE}/${group}` };
        return new ClusterNode({ plan: node, cluster: plan, place, ...own, seed });
      });
      return new Cluster(plan, plane, nodes, late);
    });
    const clusters = new Clusters(lab, all);
    try {
      await Promise.all(all.map((cluster) => cluster.start()));
      await clusters.#open();
    } catch (error) {
      await clusters.remove();
      throw error;
    }
    return clusters;
  }

  cluster(id: string): Cluster {
    const cluster = this.all.find((one) => one.id === id);
    if (cluster === undefined) throw new Error(`there is no ${id}`);
    return cluster;
  }

  /** Runs kubectl against a cluster, from the machine, and gives its standard output. Throws unless it ends with code 0. */
  async kubectl(id: string, args: readonly string[], { stdin = "" } = {}): Promise<string> {
    const { kubeconfig } = this;
    const argv = ["--kubeconfig", kubeconfig, "--context", this.cluster(id).id, ...args];
    const env = { ...process.env, KUBECACHEDIR: `${dirname(kubeconfig)}/kubectl-cache` };
    const options = { maxBuffer: MAX_OUTPUT, env };
    const run = promisify(execFile)(kubernetesCommand("kubectl"), argv, options);
    run.child.stdin?.end(stdin);
    return (await run).stdout;
  }

  /** From now on two clusters do not reach each other, or each other's control planes, or nodes and pods only. */
  async cut(a: string, b: string, kind: CutKind = "all"): Promise<void> {
    await this.#cutOnly([...this.#cuts, { clusters: [a, b], kind }]);
  }

  /** Cuts a cluster off from all others. Connections inside of it continue. */
  async isolate(id: string): Promise<void> {
    const others = this.all.filter((cluster) => cluster !== this.cluster(id));
    const cuts = others.map((other): Cut => ({ clusters: [id, other.id], kind: "all" }));
    await this.#cutOnly([...this.#cuts, ...cuts]);
  }

  /** Ends all cuts. */
  async heal(): Promise<void> {
    await this.#cutOnly([]);
  }

  /** Kills everything and removes it. May be repeated. */
  async remove(): Promise<void> {
    for (const relay of this.#relays) relay[Symbol.dispose]();
    await this.lab.remove();
    // Not before: requests may wait for a stopped control plane.
    for (const { plane } of this.all) await plane.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
  }

  async #cutOnly(cuts: readonly Cut[]): Promise<void> {
    const stdin = rulesOf(this.lab.topology, cuts);
    await this.lab.router.exec(["nft", "-f", "-"], { stdin });
    this.#cuts = cuts;
  }

  /** Lets programs on the machine in. */
  async #open(): Promise<void> {
    const contexts = this.all.map(async ({ id, plane }) => {
      const relay = await Relay.open(plane.place);
      this.#relays.push(relay);
      // Its certificate was not made for the loopback.
      const server = { server: `https://127.0.0.1:${relay.port}`, "tls-server-name": "kubernetes" };
      return plane.context({ name: id, server });
    });
    writeFileSync(this.kubeconfig, kubeconfigOf(...(await Promise.all(contexts))), { mode: 0o600 });
  }
}
