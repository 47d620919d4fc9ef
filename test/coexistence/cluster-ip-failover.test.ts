import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { answersOf, CountedConnections } from "../connections/connections.ts";
import type { Namespace } from "../lab/namespace.ts";
import { request } from "../lab/programs.ts";
import { eventually } from "../stages/agent-process.ts";
import { BALANCER, CLUSTER_IPS, FailoverStage } from "./failover-stage.ts";
import type { KubeProxy, Mode } from "./kube-proxy.ts";

// What an unmodified kube-proxy makes of failover slices: real controllers, real kube-proxies, real connections. No agent runs.

/** Rules of kube-proxy are the same with either iptables: `kube-proxy.test.ts` runs beside both. */
const MODES: readonly Mode[] = ["iptables-nft", "nftables"];
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
    describe(`in mode ${mode}`, () => {
      let proxy: KubeProxy;
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
          assert.deepEqual(answersOf([client]), { [pod]: 40 });
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
