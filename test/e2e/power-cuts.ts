import assert from "node:assert/strict";
import { availableParallelism } from "node:os";
import { before, describe, type TestContext, test } from "node:test";
import { fieldAt } from "../../api/parse/fields.ts";
import type { ClusterNode } from "../cluster/cluster-node.ts";
import { now } from "../connections/connections.ts";
import { manifest } from "../generators/objects.ts";
import { Process } from "../lab/process.ts";
import { eventually } from "../stages/agent-process.ts";
import { type Call, Caller } from "./caller.ts";
import type { Clusterset } from "./clusterset.ts";
import { type Effect, effectOf, untilAnswered } from "./effect.ts";
import { pageOf } from "./rules.ts";
import { exported, onEveryNode } from "./web.ts";

/** A service that the cluster of its clients does not have. */
const FAR = "far";

/** Connections a second from each of two nodes: enough to find what is silent, on a machine that does other things, too. */
const RATE = 50;

/** No client that waits for so long loses a connection, also on a busy machine. */
const TIMEOUT_MS = 8_000;

/** Longer than a cluster takes to boot on such a machine. */
const BOOT_MS = 180_000;

/** Where this happens. */
export interface PowerCutStage {
  readonly set: Clusterset;
  /** Of the clients. */
  readonly nodes: readonly ClusterNode[];
}

/** The clients' cluster; the nearest other one, whose second node is late; and the next. */
const [LOCAL, REGIONAL, GLOBAL] = ["cluster-1", "cluster-2", "cluster-3"] as const;
const [BY_REGIONAL, BY_GLOBAL] = [/^cluster-2-node-[12]$/, /^cluster-3-node-1$/];

/**
 * A node of another cluster loses power, and then all of that cluster, while pods of two nodes open 100 connections a second to a
 * service that their own cluster does not have, and all processors of the machine are busy with something else. It does not say how soon connections move, but that neither Kubernetes nor a Lease
 * has reported anything by then. The cluster boots while its network is still cut: until its kubelets report, Kubernetes lists the
 * pods that ran before as ready, so connections to a cluster that boots may be lost.
 */
export function powerCuts(stage: () => PowerCutStage): void {
  describe("under 100 connections a second to other clusters", { concurrency: 1 }, () => {
    let callers: Caller[];
    /** When the power was off, on the callers' clock. */
    const cuts: number[] = [];
    before(async () => {
      const { set, nodes } = stage();
      await set.clusters.cluster(REGIONAL).addNode("node-2");
      await Promise.all(
        [REGIONAL, GLOBAL].map((cluster) => {
          const far = { cluster, namespace: FAR, name: FAR };
          return set.shell(`${onEveryNode(far)}\n${exported(far)}`);
        }),
      );
      await set.clusters.kubectl(LOCAL, ["create", "namespace", FAR]);
      const vip = await set.vipOf(LOCAL, `${FAR}/${FAR}`);
      const options = { cluster: LOCAL, namespace: FAR, rate: RATE, timeoutMs: TIMEOUT_MS };
      callers = await Promise.all(
        nodes.map(({ name }) =>
          Caller.start(set, { ...options, name, node: name, target: `tcp://${vip}:80` }),
        ),
      );
      await untilAnswered(callers, BY_REGIONAL);
    });

    test("a node that loses power gets no more connections before Kubernetes has noticed, and none is lost that began later", async (t) => {
      const { set } = stage();
      const node = set.clusters.cluster(REGIONAL).node("node-2");
      for (const caller of callers) {
        const names = (await caller.calls()).slice(-RATE).map(({ name }) => name);
        assert.ok(names.includes(node.name), names.join());
      }
      const off = () => cut(() => node.host.silence());
      const { failedLater } = await underLoad(t, "its node off", /-node-1$/, off);
      assert.deepEqual(await conditions(set), [true, true]);
      assert.equal(failedLater, 0);
      await assertShown("endpoint", "Endpoint does not answer; using it last");
      await node.powerOff();
    });

    test("a cluster that loses power gets no more connections before its Lease has expired, none is lost that began later, and they return with it", async (t) => {
      const { set } = stage();
      const { plane, nodes } = set.clusters.cluster(REGIONAL);
      const off = () => cut(() => set.clusters.isolate(REGIONAL));
      const { failedLater } = await underLoad(t, "cluster off", BY_GLOBAL, off);
      assert.ok((await conditions(set)).includes(true));
      assert.equal(failedLater, 0);
      await assertShown("cluster", "No endpoint of a cluster answers; using the cluster last");
      await Promise.all([plane.kill(), ...nodes.map((node) => node.powerOff())]);
      const booted = Date.now();
      await Promise.all([plane.start(), ...nodes.map((node) => node.powerOn())]);
      for (const namespace of [FAR, "clusterset-proxy"])
        await eventually(() => assertRestarted(set, namespace, booted), BOOT_MS);
      const on = () => set.clusters.heal();
      const back = await effectOf(t, "cluster on", callers, BY_REGIONAL, on);
      assert.deepEqual(back.failed, {});
    });

    test("of all these connections, only those are lost that were open when the power was cut", async (t) => {
      const calls = (await Promise.all(callers.map((caller) => caller.stop()))).flat();
      const failed = calls.filter(({ error }) => error !== undefined);
      t.diagnostic(`${calls.length} connections, ${failed.length} lost`);
      const wereOpen = ({ at, ms }: Call) => cuts.some((cut) => at <= cut && at + ms >= cut);
      const lost = failed.filter((call) => !wereOpen(call));
      if (lost.length > 0) {
        t.diagnostic(bySecond(calls, cuts));
        for (const { name } of stage().nodes) t.diagnostic(await agentLog(name));
      }
      assert.deepEqual(lost, []);
    });

    /** What a power cut does to the calls while the machine has other work. */
    async function underLoad(
      t: TestContext,
      what: string,
      expected: RegExp,
      off: () => Promise<void>,
    ): Promise<Effect> {
      await using _load = await busyProcessors();
      return await effectOf(t, what, callers, expected, off);
    }

    async function cut(off: () => Promise<void>): Promise<void> {
      await off();
      cuts.push(now());
    }

    /** The readiness of the nearer cluster's endpoints, as the clients' cluster has it. */
    async function conditions(set: Clusterset): Promise<unknown[]> {
      const { admin } = set.clusters.cluster(LOCAL);
      const slices = await admin.list(manifest("EndpointSlice", `${FAR}/any`), IMPORTED);
      const endpoints = slices.flatMap((slice) => slice.endpoints as object[] | null);
      return endpoints.map((one) => fieldAt(one, "conditions", "ready"));
    }

    /** All pods that a namespace has in the cluster that lost power have started since then, and are ready. */
    async function assertRestarted(set: Clusterset, namespace: string, since: number) {
      const { admin } = set.clusters.cluster(REGIONAL);
      const pods = (await admin.list(manifest("Pod", `${namespace}/any`))) as unknown as Pod[];
      for (const { metadata, status } of pods) {
        for (const { ready, state } of status.containerStatuses ?? []) {
          const started = Date.parse(state.running?.startedAt ?? "");
          // Kubernetes has seconds.
          assert.ok(ready && started > since - 1_000, `${metadata.name}: ${JSON.stringify(state)}`);
        }
      }
    }

    /** What the agent of a node has logged. */
    async function agentLog(node: string): Promise<string> {
      const { set } = stage();
      const of = ["-l", "app.kubernetes.io/name=clusterset-agent", "-o", "name"];
      const at = [`--field-selector=spec.nodeName=${node}`];
      const own = ["-n", "clusterset-proxy"];
      const pod = await set.clusters.kubectl(LOCAL, [...own, "get", "pods", ...of, ...at]);
      return set.clusters.kubectl(LOCAL, [...own, "logs", pod.trim()]);
    }

    /** The verdict, in the plan, the metrics and the log of both agents: calls may move before all of a cluster is known to be silent. */
    async function assertShown(scope: string, message: string): Promise<void> {
      await Promise.all(stage().nodes.map((node) => eventually(() => assertShownOn(node), 30_000)));

      async function assertShownOn(node: ClusterNode): Promise<void> {
        assert.match(await pageOf(node, `/plan/${FAR}/${FAR}`), /"reason": "unanswering"/);
        const gauge = `clusterset_agent_health_unanswering{scope="${scope}"} 1`;
        const metrics = (await pageOf(node, "/metrics")).split("\n");
        const log = await agentLog(node.name);
        const ofHealth = metrics.filter((one) => one.startsWith("clusterset_agent_health"));
        assert.ok(metrics.includes(gauge), [gauge, ...ofHealth, log].join("\n"));
        const line = log.split("\n").find((one) => one.includes(message));
        assert.match(line ?? log, /"reason":"unanswering"/);
        assert.match(line ?? "", new RegExp(`"cluster":"${REGIONAL}"`));
      }
    }
  });
}

/** Calls by the second in which they began, after each cut: `+3 s: 98 cluster-3-node-1, 2 timeout`. */
function bySecond(calls: readonly Call[], cuts: readonly number[]): string {
  const first = Math.min(...cuts);
  const seconds = Map.groupBy(calls, ({ at }) => Math.floor((at - first) / 1_000));
  const lines = [...seconds].toSorted(([a], [b]) => a - b);
  const texts = lines.map(([second, all]) => {
    const words = Map.groupBy(all, ({ name, error }) => error ?? name ?? "");
    return `+${second} s: ${[...words].map(([word, some]) => `${some.length} ${word}`).join(", ")}`;
  });
  return `cuts at ${cuts.map((cut) => Math.round(cut - first)).join(", ")} ms\n${texts.join("\n")}`;
}

interface Pod {
  readonly metadata: { readonly name: string };
  readonly status: {
    readonly containerStatuses?: readonly {
      readonly ready: boolean;
      readonly state: { readonly running?: { readonly startedAt: string } };
    }[];
  };
}

const IMPORTED = {
  labelSelector: `multicluster.kubernetes.io/service-name=${FAR},multicluster.kubernetes.io/source-cluster=${REGIONAL}`,
};

/** The kernel kills a process with the one that began it. */
const WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"];

/** Longer than any power cut takes to be noticed. */
const AT_MOST_MS = 120_000;

/** Prints a line, and keeps one processor busy for a limited time. */
const SPIN = `console.log("busy"); for (const end = Date.now() + ${AT_MOST_MS}; Date.now() < end; );`;

/** Other work of the machine: one process for each processor, that computes until this is disposed of. */
async function busyProcessors(): Promise<AsyncDisposable> {
  const argv = [...WITH_PARENT, process.execPath, "--eval", SPIN];
  const processes = Array.from({ length: availableParallelism() }, () => new Process(argv));
  await Promise.all(processes.map((one) => one.line(/busy/)));
  return {
    async [Symbol.asyncDispose]() {
      for (const one of processes) one.signal("SIGKILL");
      await Promise.all(processes.map(({ exited }) => exited));
    },
  };
}
