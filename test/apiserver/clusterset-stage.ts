import { PROPERTY_REGION } from "../../api/keys.ts";
import { Connections } from "../connections/connections.ts";
import { cutOff, Lab, reconnect } from "../lab/lab.ts";
import type { Process } from "../lab/process.ts";
import { serve } from "../lab/programs.ts";
import { AgentProcess, eventually } from "../stages/agent-process.ts";
import { ControllerStage, type StagedCluster } from "./controller-stage.ts";
import { clusterProperty } from "./crds.ts";
import { OURS, type Release } from "./release.ts";
import { agentRights } from "./rights.ts";

const AGENT = "agent";
const NODE = "n1";
const AGENT_FLAGS = ["--node-name", NODE, "--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
const CONTROL_PLANE = "control-plane";
/** The Service that every cluster has. */
export const SERVICE = "shop/web";

/** The clusters: each has one server, and c1 the client and the agent. */
export const CLUSTERS = [
  { id: "c1", region: "eu-west", address: "10.1.0.11" },
  { id: "c2", region: "eu-west", address: "10.2.0.11" },
  { id: "c3", region: "us-east", address: "10.3.0.11" },
] as const;
export type ClusterName = (typeof CLUSTERS)[number]["id"];

/** What a `ClusterSetStage` is made of. */
export interface ClusterSetOptions {
  /** Clusters whose Leases expire after seconds. */
  readonly shortLeases?: readonly ClusterName[];
  /** More flags of the controllers. */
  readonly flags?: readonly string[];
  /** More flags of the agent. */
  readonly agentFlags?: readonly string[];
  /** Clusters with another release than these sources. */
  readonly releases?: Partial<Readonly<Record<ClusterName, Release>>>;
}

/** All of the product, and nothing in its place: three clusters with controllers, an agent, servers, and a client. */
export class ClusterSetStage implements AsyncDisposable {
  readonly lab: Lab;
  readonly #controllers: ControllerStage;
  readonly #servers = new Map<ClusterName, Process>();
  readonly #agentFlags: readonly string[];
  /** On c1's node, with the objects of c1's API server. */
  agent: AgentProcess;

  private constructor(
    lab: Lab,
    controllers: ControllerStage,
    release: Release,
    agentFlags: readonly string[] = [],
  ) {
    this.lab = lab;
    this.#controllers = controllers;
    this.#agentFlags = [...AGENT_FLAGS, ...agentFlags];
    this.agent = this.#agentOf(release);
  }

  /** Brings everything up. Nothing is exported yet. */
  static async open(options: ClusterSetOptions = {}): Promise<ClusterSetStage> {
    const lab = await Lab.create({
      clusters: CLUSTERS.map(({ id, region, address }) => {
        const client = id === "c1" ? { client: ["10.1.0.20"] } : {};
        const pods = { web: [address], ...client };
        return { id, region, nodes: [{ name: NODE, pods }, { name: CONTROL_PLANE }] };
      }),
    });
    let controllers: ControllerStage | undefined;
    try {
      controllers = await ControllerStage.open({
        clusters: CLUSTERS.map(({ id }) => id),
        users: [AGENT],
        ...options,
        nodeOf: (id) => lab.node(id, CONTROL_PLANE),
      });
      const { c1 = OURS } = options.releases ?? {};
      const stage = new ClusterSetStage(lab, controllers, c1, options.agentFlags);
      await stage.#start(c1);
      return stage;
    } catch (error) {
      await controllers?.[Symbol.asyncDispose]();
      await lab.remove();
      throw error;
    }
  }

  cluster(id: ClusterName): StagedCluster {
    return this.#controllers.cluster(id);
  }

  /** Applies a release's permissions of a cluster's controller and starts it in place of the present one, without waiting for it. */
  async replaceController(id: ClusterName, release: Release): Promise<void> {
    const cluster = this.cluster(id);
    await this.#controllers.allow(id, release);
    await cluster.stop();
    cluster.program = release.controller;
    await cluster.launch();
  }

  /** Applies a release's permissions of the agent and starts it in place of the present one, without waiting for it. */
  async replaceAgent(release: Release): Promise<void> {
    await this.#allowAgent(release);
    await this.agent.stop();
    this.agent = this.#agentOf(release);
    this.agent.launch();
  }

  /** What the agent of a release would decide now about each import, as it prints it. */
  async planOf(release: Release): Promise<string> {
    const { plane } = this.cluster("c1");
    const objects = ["--kubeconfig", plane.kubeconfig({ user: "admin" })];
    const argv = [...release.agent, "plan", ...objects, ...AGENT_FLAGS, "--output", "json"];
    return this.lab.node("c1", NODE).exec(argv);
  }

  /** A pod of c1 begins to connect, for `seconds`; each connection times out after `timeout` milliseconds. */
  connect(vip: string, seconds = 120, timeout = 1000): Connections {
    return new Connections(this.lab.pod("c1", "n1", "client"), vip, { seconds, timeout });
  }

  /** Writes a cluster's slice of the Service: its server is in it, or nothing is. The server runs on. */
  async scale(id: ClusterName, up: boolean): Promise<void> {
    await this.cluster(id).endpoints(SERVICE, up ? [place(id).address] : []);
  }

  /** API server and controller are killed; the cluster's pods continue. */
  async killControlPlane(id: ClusterName): Promise<void> {
    const cluster = this.cluster(id);
    await Promise.all([cluster.plane.kill(), cluster.kill()]);
  }

  /** They are started again, with what the API server knew: that the controller leads which was killed, too. */
  async reviveControlPlane(id: ClusterName): Promise<void> {
    const cluster = this.cluster(id);
    await cluster.plane.start();
    await cluster.launch();
  }

  /** How many connects the agent has had forgotten so far that were never answered. */
  async forgotten(): Promise<number> {
    const metrics = await this.agent.page("/metrics");
    const name = "clusterset_agent_conntrack_deleted_entries_total";
    const found = new RegExp(`^${name}{.*reason="unanswered"} (\\d+)$`, "gm");
    return [...metrics.matchAll(found)].reduce((sum, [, count]) => sum + Number(count), 0);
  }

  /** Waits until there are more of them than `before`. */
  async untilForgotten(before: number): Promise<void> {
    await eventually(async () => {
      if ((await this.forgotten()) <= before) throw new Error(`none forgotten:\n${this.agent.log}`);
    });
  }

  /** Everything in the cluster ends at once, without a packet: no connection is closed or rejected. */
  async killCluster(id: ClusterName): Promise<void> {
    await cutOff(this.lab, id);
    const server = this.#servers.get(id);
    server?.signal("SIGKILL");
    await this.killControlPlane(id);
  }

  /** The cluster boots. */
  async reviveCluster(id: ClusterName): Promise<void> {
    await reconnect(this.lab, id);
    await this.#serve(id);
    await this.reviveControlPlane(id);
  }

  /** The logs of all programs that could be at fault. */
  get log(): string {
    const controllers = CLUSTERS.map(({ id }) => `${id}:\n${this.cluster(id).log}`);
    return [`agent:\n${this.agent.log}`, ...controllers].join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#controllers[Symbol.asyncDispose]();
    await this.lab.remove();
  }

  #agentOf({ agent }: Release): AgentProcess {
    const kubeconfig = this.cluster("c1").plane.kubeconfig({ user: AGENT });
    return new AgentProcess(this.lab.node("c1", NODE), { kubeconfig }, this.#agentFlags, agent);
  }

  async #start(release: Release): Promise<void> {
    for (const { id, region, address } of CLUSTERS) {
      await this.#serve(id);
      const cluster = this.cluster(id);
      await cluster.plane.admin.apply(clusterProperty(PROPERTY_REGION, region));
      await cluster.serve(SERVICE, [address]);
    }
    const { admin } = this.cluster("c1").plane;
    const labels = { "topology.kubernetes.io/region": place("c1").region };
    await admin.apply({ apiVersion: "v1", kind: "Node", metadata: { name: NODE, labels } });
    await this.#allowAgent(release);
    await this.#controllers.start();
    // Its cluster's id is what the controller makes of a flag: a ClusterProperty.
    this.agent.launch();
    await this.agent.page("/readyz");
  }

  async #allowAgent(release: Release): Promise<void> {
    const { admin } = this.cluster("c1").plane;
    for (const object of agentRights(AGENT, release)) await admin.apply(object);
  }

  async #serve(id: ClusterName): Promise<void> {
    const server = this.lab.pod(id, "n1", "web").spawn(serve("--name", `${id}/web`));
    await server.line(/serving/);
    this.#servers.set(id, server);
  }
}

function place(id: ClusterName) {
  return CLUSTERS.find((one) => one.id === id) ?? CLUSTERS[0];
}
