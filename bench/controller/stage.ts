import { join } from "node:path";
import { bundle, copyNative } from "../../scripts/build/bundle.ts";
import type { ApiClient } from "../../test/apiserver/api-client.ts";
import { ControllerStage, type StagedCluster } from "../../test/apiserver/controller-stage.ts";
import { agentRights } from "../../test/apiserver/rights.ts";
import { now } from "../../test/connections/connections.ts";
import { Lab } from "../../test/lab/lab.ts";
import { AgentProcess } from "../../test/stages/agent-process.ts";
import { Client } from "../client.ts";
import { buildConnector, serveCommand } from "../connector/build.ts";
import type { Change } from "../followed.ts";
import { NAMESPACE } from "../shape.ts";
import {
  addressesOf,
  exportedObjects,
  liveObjects,
  liveSlice,
  PLACES,
  SERVERS_CIDR,
} from "./objects.ts";

/** The clusters: c1 has the service that changes, c2 the agent and the client, c3 comes later. */
export const CLUSTERS = ["c1", "c2", "c3"] as const;
/** One of `CLUSTERS`. */
export type ClusterName = (typeof CLUSTERS)[number];

const ROOT = join(import.meta.dirname, "../..");
const CONTROL_PLANE = "control-plane";
const SERVERS = "servers";
const NODE = "n1";
const AGENT = "agent";

/** Three clusters in a mesh, each with a real control plane; controllers and an agent as they are built for users. */
export class MeshStage implements AsyncDisposable {
  readonly lab: Lab;
  /** On c2's node, with the objects of c2's API server. It was not started. */
  readonly agent: AgentProcess;
  readonly #controllers: ControllerStage;
  readonly #connector: string;
  #moves = 0;

  private constructor(
    lab: Lab,
    controllers: ControllerStage,
    agent: AgentProcess,
    connector: string,
  ) {
    this.lab = lab;
    this.#connector = connector;
    this.agent = agent;
    this.#controllers = controllers;
  }

  /** Brings everything up; no controller runs, and there is no service. */
  static async open(): Promise<MeshStage> {
    const places = Array.from({ length: PLACES }, (_, n) => addressesOf(n));
    const servers = { name: SERVERS, podCidrs: [SERVERS_CIDR], pods: { web: places.flat() } };
    const plane = { name: CONTROL_PLANE };
    const lab = await Lab.create({
      clusters: [
        { id: "c1", nodes: [plane, servers] },
        { id: "c2", nodes: [plane, { name: NODE, pods: { client: [] } }] },
        { id: "c3", nodes: [plane] },
      ],
    });
    let controllers: ControllerStage | undefined;
    try {
      const connector = await buildConnector();
      const server = lab.pod("c1", SERVERS, "web").spawn(serveCommand(connector, places));
      await server.line(/serving/);
      const program = async (name: string) => {
        const file = join(lab.directory, `clusterset-${name}.mjs`);
        await bundle(join(ROOT, name, "main.ts"), file);
        return [process.execPath, file];
      };
      copyNative(lab.directory);
      controllers = await ControllerStage.open({
        clusters: CLUSTERS,
        program: await program("controller"),
        users: [AGENT],
        nodeOf: (id) => lab.node(id, CONTROL_PLANE),
      });
      const stage = new MeshStage(
        lab,
        controllers,
        agentIn(lab, controllers, await program("agent")),
        connector,
      );
      await stage.#prepare();
      return stage;
    } catch (error) {
      await controllers?.[Symbol.asyncDispose]();
      await lab.remove();
      throw error;
    }
  }

  cluster(name: ClusterName): StagedCluster {
    return this.#controllers.cluster(name);
  }

  /** A client of this cluster's API server for one thing alone, which may do everything. */
  client(name: ClusterName): ApiClient {
    return this.cluster(name).plane.client("admin");
  }

  /** Creates services from 1 on, and exports them. */
  async load(name: ClusterName, services: number): Promise<void> {
    const { admin } = this.cluster(name).plane;
    await admin.createAll(exportedObjects(CLUSTERS.indexOf(name), services));
  }

  /** Creates the service that changes in c1, and exports it. */
  async begin(): Promise<void> {
    await this.cluster("c1").plane.admin.createAll(liveObjects());
  }

  /** Addresses of the service that changes, now. */
  get addresses(): string[] {
    return addressesOf(this.#moves % PLACES);
  }

  /** Who answers now, or should. */
  get place(): string {
    return String(this.#moves % PLACES);
  }

  /** Replaces all endpoints of the service that changes, in c1. */
  async move(): Promise<Change> {
    const place = ++this.#moves % PLACES;
    const slice = liveSlice(place);
    const begun = now();
    await this.cluster("c1").plane.admin.update(slice);
    return { place: String(place), begun, acknowledged: now() };
  }

  /** A client in c2 of the service that changes. */
  connect(vip: string): Client {
    return new Client(this.#connector, this.lab.pod("c2", NODE, "client"), vip);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#controllers[Symbol.asyncDispose]();
    await this.lab.remove();
  }

  async #prepare(): Promise<void> {
    for (const name of CLUSTERS) await this.cluster(name).namespace(NAMESPACE);
    const { admin } = this.cluster("c2").plane;
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: NODE } };
    for (const object of [...agentRights(AGENT), node]) await admin.apply(object);
  }
}

function agentIn(lab: Lab, controllers: ControllerStage, program: readonly string[]): AgentProcess {
  const kubeconfig = controllers.cluster("c2").plane.kubeconfig({ user: AGENT });
  const flags = ["--node-name", NODE, "--clusterset-cidr", "241.0.0.0/8"];
  const node = lab.node("c2", NODE);
  return new AgentProcess(node, { kubeconfig }, [...flags, "--iptables-flavour", "nft"], program);
}
