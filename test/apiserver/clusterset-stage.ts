import { PROPERTY_REGION } from "../../api/keys.ts";
import { Lab } from "../lab/lab.ts";
import { cutOff, reconnect } from "../lab/outage.ts";
import type { Process } from "../lab/process.ts";
import { serve } from "../lab/programs.ts";
import { AgentProcess, eventually } from "../support/agent-process.ts";
import { agentRights } from "./agent-rights.ts";
import { Connections } from "./connections.ts";
import { ControllerStage, type StagedCluster } from "./controller-stage.ts";

const AGENT = "agent";
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

/** All of the product, and nothing in its place: three clusters with controllers, an agent, servers, and a client. */
export class ClusterSetStage implements AsyncDisposable {
  readonly lab: Lab;
  readonly #controllers: ControllerStage;
  readonly #servers = new Map<ClusterName, Process>();
  /** On c1's node, with the objects of c1's API server. */
  readonly agent: AgentProcess;

  private constructor(lab: Lab, controllers: ControllerStage) {
    this.lab = lab;
    this.#controllers = controllers;
    const kubeconfig = controllers.cluster("c1").plane.kubeconfig({ user: AGENT });
    const flags = ["--node-name", "n1", "--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
    this.agent = new AgentProcess(lab.node("c1", "n1"), { kubeconfig }, flags);
  }

  /** Brings everything up. Nothing is exported yet. */
  static async open(): Promise<ClusterSetStage> {
    const lab = await Lab.create({
      clusters: CLUSTERS.map(({ id, region, address }) => {
        const client = id === "c1" ? { client: ["10.1.0.20"] } : {};
        const pods = { web: [address], ...client };
        return { id, region, nodes: [{ name: "n1", pods }, { name: CONTROL_PLANE }] };
      }),
    });
    let controllers: ControllerStage | undefined;
    try {
      controllers = await ControllerStage.open({
        clusters: CLUSTERS.map(({ id }) => id),
        users: [AGENT],
        nodeOf: (id) => lab.node(id, CONTROL_PLANE),
      });
      const stage = new ClusterSetStage(lab, controllers);
      await stage.#start();
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

  /** A pod of c1 begins to connect. */
  connect(vip: string): Connections {
    return new Connections(this.lab.pod("c1", "n1", "client"), vip, 120);
  }

  /** Writes a cluster's slice of the Service: its server is in it, or nothing is. The server runs on. */
  async scale(id: ClusterName, up: boolean): Promise<void> {
    await this.cluster(id).endpoints(SERVICE, up ? [place(id).address] : []);
  }

  /** API server and controller are killed; the cluster's pods go on. */
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

  /** Everything in the cluster ends at once, and not even the kernel says so: no connection is closed or refused. */
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

  /** What everybody who could be at fault has said. */
  get log(): string {
    const controllers = CLUSTERS.map(({ id }) => `${id}:\n${this.cluster(id).log}`);
    return [`agent:\n${this.agent.log}`, ...controllers].join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#controllers[Symbol.asyncDispose]();
    await this.lab.remove();
  }

  async #start(): Promise<void> {
    for (const { id, region, address } of CLUSTERS) {
      await this.#serve(id);
      const cluster = this.cluster(id);
      await cluster.plane.admin.apply({
        apiVersion: "about.k8s.io/v1beta1",
        kind: "ClusterProperty",
        metadata: { name: PROPERTY_REGION },
        spec: { value: region },
      });
      await cluster.serve(SERVICE, [address]);
    }
    const { admin } = this.cluster("c1").plane;
    const labels = { "topology.kubernetes.io/region": place("c1").region };
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n1", labels } };
    for (const object of [...agentRights(AGENT), node]) await admin.apply(object);
    await this.#controllers.start();
    // Its cluster's id is what the controller makes of a flag: a ClusterProperty.
    await this.agent.start();
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
