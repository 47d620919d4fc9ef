import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ControllerStage,
  SLICE,
  type StagedCluster,
  serviceSlice,
} from "../apiserver/controller-stage.ts";
import { answersOf, CountedConnections, call } from "../connections/connections.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import type { Process } from "../lab/process.ts";
import { request, startServer } from "../lab/programs.ts";
import { eventually } from "../stages/agent-process.ts";
import { KubeProxy, type Mode } from "./kube-proxy.ts";

const ASK = "clusterset-proxy.io/cluster-ip-failover";
const FAILOVER = "endpointslice.kubernetes.io/managed-by=cluster-ip-failover.clusterset-proxy.io";
const CONTROL_PLANE = "control-plane";
const SERVICE = { apiVersion: "v1", kind: "Service", metadata: { namespace: "shop", name: "web" } };
/** Where the Service answers in c1, by family. */
const CLUSTER_IPS = ["10.96.0.50", "fd00:96::50"] as const;
/** Its load balancer's address, which nodes of c1 forward as a node port. */
const BALANCER = "192.0.2.50";

const LEAVING = { ready: false, serving: true, terminating: true };

/** A pod of c1: in zone z1 or z2. */
type LocalPod = "a" | "b";
const ZONES = { a: "z1", b: "z2" } as const;

/** What the endpoints of c1 say besides their addresses. */
interface Endpoints {
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
class FailoverStage implements AsyncDisposable {
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

// What an unmodified kube-proxy makes of failover slices: real controllers, real kube-proxies, real connections. No agent runs.

/**
 * Rules of kube-proxy are the same with either iptables: `kube-proxy.test.ts` runs beside both. The legacy one replaces a table as a whole. With the other,
 * a packet that is interrupted among its rules while kube-proxy commits twice, its two tables, is not translated: one of a thousand on a busy machine.
 */
const MODES: readonly Mode[] = ["iptables-legacy", "nftables"];
const BOTH = { ready: ["a", "b"] } as const;
const NONE = { ready: [] } as const;
const REMOTE = "c2/c";
/** New connections of each client in a second. */
const RATE = 100;

describe("a Service that asks for failover, with the real kube-proxy", () => {
  let stage: FailoverStage;
  before(async () => {
    stage = await FailoverStage.open(MODES);
  });
  after(() => stage?.[Symbol.asyncDispose]());

  for (const mode of MODES) {
    let proxy: KubeProxy;
    describe(`in mode ${mode}`, () => {
      before(async () => {
        await stage.scale(BOTH);
        proxy = stage.proxy(mode);
        await proxy.start();
        await until(/^c1\//);
      });
      after(async () => {
        await stage.change({ type: "ClusterIP", internalTrafficPolicy: "Cluster" });
        await proxy.stop();
      });
      behaviour(mode);
    });

    /** Waits until pod and host get this answer at both ClusterIPs. */
    async function until(answer: RegExp): Promise<void> {
      await eventually(async () => {
        for (const from of [stage.client(mode), stage.node(mode)]) {
          for (const ip of CLUSTER_IPS) assert.match(await stage.call(from, ip), answer);
        }
      }, 30_000);
    }

    async function gone(): Promise<void> {
      await stage.scale(NONE);
      await until(new RegExp(`^${REMOTE}$`));
    }

    async function back(): Promise<void> {
      await stage.scale(BOTH);
      await until(/^c1\//);
    }

    /** Waits until all of many connections of the pod, to both ClusterIPs, are answered by one pod. */
    async function onlyFrom(pod: string): Promise<void> {
      await eventually(async () => {
        for (const ip of CLUSTER_IPS) {
          const flags = ["--count", "40", "--every", "20000"];
          const client = stage.client(mode).spawn(request(...flags, url(ip)));
          await client.exited;
          assert.deepEqual(answersOf([client]), { [pod]: 40 }, `${ip}\n${proxy.log.slice(-4_000)}`);
        }
      }, 30_000);
    }

    function behaviour(mode: Mode): void {
      test("no connection of pods or hosts is refused or hangs while the Service is scaled to zero and back, also while the controller is down", async (t) => {
        for (const isDown of [false, true]) {
          if (isDown) await stage.c1.kill();
          await storm(t, mode, async () => {
            await gone();
            await back();
          });
        }
        await stage.c1.replace();
      });

      test("connections leave the last local pods while these terminate, and none is lost when they end", async (t) => {
        await storm(t, mode, async () => {
          await stage.scale({ ready: [], terminating: BOTH.ready });
          await onlyFrom(REMOTE);
          for (const pod of BOTH.ready) await stage.end(pod);
          await sleep(1_000);
          await gone();
          for (const pod of BOTH.ready) await stage.start(pod);
          await back();
        });
      });

      test("hints of local endpoints stay in force", async () => {
        await stage.scale({ ...BOTH, hints: true });
        // The node is in a's zone.
        await onlyFrom("c1/a");
        await stage.scale(BOTH);
      });

      test("a node port and a load balancer's address lead to the other cluster, too; internalTrafficPolicy Local never does", async () => {
        await stage.change({ type: "LoadBalancer" });
        await stage.balance();
        await gone();
        const node = stage.node(mode).address();
        const { clients: port } = await stage.nodePorts();
        await stage.balanceTo(mode);
        // From a pod, and from outside of the cluster.
        for (const from of [stage.client(mode), outside()]) {
          await untilCalled(from, node, port, REMOTE);
          await untilCalled(from, BALANCER, 80, REMOTE);
        }
        await stage.change({ internalTrafficPolicy: "Local" });
        await eventually(async () => {
          for (const from of [stage.client(mode), stage.node(mode)]) {
            assert.match(await stage.call(from, CLUSTER_IPS[0]), /^timeout$|Failed to connect/);
          }
        }, 30_000);
        await stage.change({ internalTrafficPolicy: "Cluster", type: "ClusterIP" });
        await back();
      });

      test("with externalTrafficPolicy Local, clients outside of the cluster get no answer, and the health check fails; those inside fail over", async () => {
        await stage.change({ type: "LoadBalancer", externalTrafficPolicy: "Local" });
        await stage.balance();
        await stage.balanceTo(mode);
        const node = stage.node(mode).address();
        const { clients: port, healthCheck } = await stage.nodePorts();
        // Endpoints of c1 are on another node, then there are none: that makes no difference.
        for (const endpoints of [BOTH, NONE]) {
          await stage.scale(endpoints);
          const inside = endpoints === BOTH ? /^c1\// : new RegExp(`^${REMOTE}$`);
          await until(inside);
          for (const from of [stage.client(mode), stage.node(mode)]) {
            await untilCalled(from, node, port, inside);
            await untilCalled(from, BALANCER, 80, inside);
          }
          await untilCalled(outside(), node, port, "timeout");
          await untilCalled(outside(), BALANCER, 80, "timeout");
          const url = `http://${node}:${healthCheck}/`;
          const { stdout } = await outside().run(["curl", "-s", "-w", "%{http_code}", url]);
          assert.match(stdout, /"localEndpoints": 0\b[\s\S]*503$/);
        }
        await stage.change({ externalTrafficPolicy: null, type: "ClusterIP" });
        await back();
      });
    }
  }

  /** A client outside of c1. */
  function outside(): Namespace {
    return stage.lab.node("c2", "servers");
  }

  async function untilCalled(
    from: Namespace,
    address: string,
    port: number,
    answer: RegExp | string,
  ): Promise<void> {
    await eventually(async () => {
      const found = await stage.call(from, address, port);
      if (typeof answer === "string") assert.equal(found, answer);
      else assert.match(found, answer);
    }, 30_000);
  }

  /** Connects from pod and host, in both families, while `changes` happen twice; each connection must be answered. */
  async function storm(t: TestContext, mode: Mode, changes: () => Promise<void>): Promise<void> {
    const pace = { seconds: 60, rate: RATE, inFlight: 50, timeout: 5_000 };
    const counted = new CountedConnections(pace);
    for (const from of [stage.client(mode), stage.node(mode)]) {
      for (const ip of CLUSTER_IPS) counted.add(from, ip);
    }
    for (let round = 0; round < 2; round++) {
      await changes();
      await sleep(500);
    }
    const { slowest } = await counted.assertNoneFailed(100);
    const { answers } = counted;
    for (const pod of ["c1/a", "c1/b", REMOTE]) assert.ok((answers[pod] ?? 0) > 0, pod);
    t.diagnostic(`${JSON.stringify(answers)}, the slowest ${slowest} ms`);
  }
});

function url(ip: string): string {
  return `tcp://${ip.includes(":") ? `[${ip}]` : ip}:80`;
}
