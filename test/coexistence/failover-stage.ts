import {
  ControllerStage,
  SLICE,
  type StagedCluster,
  serviceSlice,
} from "../apiserver/controller-stage.ts";
import { call } from "../connections/connections.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { startServer } from "../lab/programs.ts";
import { eventually } from "../stages/agent-process.ts";
import { KubeProxy, type Mode } from "./kube-proxy.ts";

const ASK = "clusterset-proxy.io/cluster-ip-failover";
const FAILOVER = "endpointslice.kubernetes.io/managed-by=cluster-ip-failover.clusterset-proxy.io";
const CONTROL_PLANE = "control-plane";
const SERVICE = { apiVersion: "v1", kind: "Service", metadata: { namespace: "shop", name: "web" } };
/** Where the Service answers in c1, by family. */
export const CLUSTER_IPS = ["10.96.0.50", "fd00:96::50"] as const;
/** Its load balancer's address, which nodes of c1 forward as a node port. */
export const BALANCER = "192.0.2.50";

const LEAVING = { ready: false, serving: true, terminating: true };

/** A pod of c1: in zone z1 or z2. */
export type LocalPod = "a" | "b";
const ZONES = { a: "z1", b: "z2" } as const;

/** What the endpoints of c1 say besides their addresses. */
export interface Endpoints {
  /** Those that are ready; none: the Service is scaled to zero. */
  readonly ready: readonly LocalPod[];
  /** Those that terminate, and still serve. */
  readonly terminating?: readonly LocalPod[];
  /** With hints that each zone uses its own. */
  readonly hints?: boolean;
}

/**
 * Two clusters with controllers and without an agent: the Service `shop/web` in both, exported, and asking for failover in c1, where
 * each node has a real kube-proxy. Pods of c1 are called `c1/a` and `c1/b`, that of c2 `c2/c`.
 */
export class FailoverStage implements AsyncDisposable {
  readonly lab: Lab;
  readonly c1: StagedCluster;
  readonly c2: StagedCluster;
  readonly #controllers: ControllerStage;
  readonly #servers = new Map<LocalPod | "c", Process>();

  private constructor(lab: Lab, controllers: ControllerStage) {
    this.lab = lab;
    this.#controllers = controllers;
    this.c1 = controllers.cluster("c1");
    this.c2 = controllers.cluster("c2");
  }

  /** Brings everything up but the kube-proxies: a node of c1 for each mode, in zone z1. */
  static async open(modes: readonly Mode[]): Promise<FailoverStage> {
    const lab = await Lab.create({
      clusters: [
        {
          id: "c1",
          nodes: [
            { name: "servers", pods: { a: [], b: [] } },
            { name: CONTROL_PLANE },
            ...modes.map((name) => ({ name, pods: { client: [] } })),
          ],
        },
        { id: "c2", nodes: [{ name: "servers", pods: { c: [] } }, { name: CONTROL_PLANE }] },
      ],
    });
    let controllers: ControllerStage | undefined;
    try {
      controllers = await ControllerStage.open({
        clusters: ["c1", "c2"],
        nodeOf: (id) => lab.node(id, CONTROL_PLANE),
      });
      const stage = new FailoverStage(lab, controllers);
      await stage.#fill(modes);
      await controllers.start();
      await stage.untilPrepared();
      return stage;
    } catch (error) {
      await controllers?.[Symbol.asyncDispose]();
      await lab.remove();
      throw error;
    }
  }

  /** Waits until c1 has a failover slice of each family. */
  async untilPrepared(): Promise<void> {
    await eventually(async () => {
      const slices = await this.c1.list(SLICE, "shop", FAILOVER);
      if (slices.length < 2) throw new Error(`no failover slices:\n${this.c1.log}`);
    }, 60_000);
  }

  node(mode: Mode): Namespace {
    return this.lab.node("c1", mode);
  }

  client(mode: Mode): Namespace {
    return this.lab.pod("c1", mode, "client");
  }

  proxy(mode: Mode): KubeProxy {
    const kubeconfig = this.c1.plane.kubeconfig({ user: "admin" });
    return new KubeProxy(this.lab, this.node(mode), mode, mode, kubeconfig);
  }

  /** Changes the Service of c1. */
  async change(spec: object): Promise<void> {
    await this.c1.plane.admin.patch(SERVICE, { spec });
  }

  /** Gives it the address of a load balancer, as a cloud's controller does. */
  async balance(): Promise<void> {
    const status = { loadBalancer: { ingress: [{ ip: BALANCER, ipMode: "VIP" }] } };
    await this.c1.plane.admin.patch(SERVICE, { status }, "status");
  }

  /** The ports of nodes that Kubernetes has chosen for the Service: for clients, and for a load balancer's health check. */
  async nodePorts(): Promise<{ clients: number; healthCheck: number }> {
    const found = await this.c1.find(SERVICE, "shop/web");
    const { ports = [], healthCheckNodePort = 0 } = (found?.spec ?? {}) as {
      readonly ports?: readonly { readonly nodePort?: number }[];
      readonly healthCheckNodePort?: number;
    };
    return { clients: ports[0]?.nodePort ?? 0, healthCheck: healthCheckNodePort };
  }

  /** Routes the load balancer's address to a node, for clients outside of c1. */
  async balanceTo(mode: Mode): Promise<void> {
    const via = this.node(mode).address();
    await this.lab.router.exec(["ip", "route", "replace", BALANCER, "via", via]);
  }

  /** Writes the endpoints of c1, as Kubernetes' controllers would. Pods that are not listed run on. */
  async scale({ ready, terminating = [], hints = false }: Endpoints): Promise<void> {
    for (const family of ["IPv4", "IPv6"] as const) {
      await this.c1.plane.admin.apply(
        serviceSlice(
          "shop/web",
          [...ready, ...terminating].map((pod) => ({
            addresses: [this.lab.pod("c1", "servers", pod).address(family)],
            conditions: ready.includes(pod) ? { ready: true } : LEAVING,
            nodeName: "servers",
            zone: ZONES[pod],
            ...(hints && { hints: { forZones: [{ name: ZONES[pod] }] } }),
          })),
          { family },
        ),
      );
    }
  }

  /** Starts the program of a pod. */
  async start(pod: LocalPod | "c"): Promise<void> {
    const cluster = pod === "c" ? "c2" : "c1";
    const place = this.lab.pod(cluster, "servers", pod);
    this.#servers.set(pod, await startServer(place, "--name", `${cluster}/${pod}`));
  }

  /** Ends it: what connects from now on is refused. */
  async end(pod: LocalPod): Promise<void> {
    const server = this.#servers.get(pod);
    server?.signal("SIGKILL");
    await server?.exited;
  }

  /** Which pod responds, or the error. */
  call(from: Namespace, address: string, port = 80): Promise<string> {
    return call(from, address, port, 1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#controllers[Symbol.asyncDispose]();
    await this.lab.remove();
  }

  async #fill(modes: readonly Mode[]): Promise<void> {
    for (const pod of ["a", "b", "c"] as const) await this.start(pod);
    const { admin } = this.c1.plane;
    for (const name of modes) {
      const labels = { "topology.kubernetes.io/zone": ZONES.a };
      const node = { apiVersion: "v1", kind: "Node", metadata: { name, labels } };
      await admin.apply(node);
      const addresses = this.node(name).addresses.map(({ text: address }) => ({
        type: "InternalIP",
        address,
      }));
      await admin.patch(node, { status: { addresses } }, "status");
    }
    const ips = { clusterIP: CLUSTER_IPS[0], clusterIPs: CLUSTER_IPS };
    const dual = { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv4", "IPv6"] };
    for (const cluster of [this.c1, this.c2]) {
      await cluster.serve("shop/web", [], { ...dual, ...(cluster === this.c1 && ips) });
      await cluster.export("shop/web");
    }
    await this.scale({ ready: ["a", "b"] });
    const c = this.lab.pod("c2", "servers", "c");
    for (const family of ["IPv4", "IPv6"] as const) {
      const endpoint = { addresses: [c.address(family)], conditions: { ready: true } };
      await this.c2.plane.admin.apply(serviceSlice("shop/web", [endpoint], { family }));
    }
    await admin.patch(SERVICE, { metadata: { annotations: { [ASK]: "true" } } });
  }
}
