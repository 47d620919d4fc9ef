import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { nodeShare } from "../../agent/model/node-share.ts";
import { ANNOTATION_DRAIN } from "../../api/keys.ts";
import { parseShift, type Shift } from "../../api/shift.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { eventually } from "../stages/agent-process.ts";
import type { ApiReference } from "./api-client.ts";
import { CLUSTERS, ClusterSetStage, SERVICE } from "./clusterset-stage.ts";
import type { ControlPlane } from "./control-plane.ts";
import { ControllerStage, IMPORT, SLICE, type StagedCluster } from "./controller-stage.ts";

/** Long enough for every step before the drain ends by itself. */
const DRAIN_MS = 30_000;
/** Until after its end, with a return window of some seconds. */
const PATIENCE_MS = 60_000;

/** Milliseconds of a drain in whole seconds; none: it is taken back. */
async function drain({ admin }: ControlPlane, object: ApiReference, ms?: number): Promise<void> {
  const now = new Date().toISOString();
  const text = ms && `from=${now}; for=${ms / 1000}s; by=ann; reason=kernel upgrade`;
  await admin.patch(object, { metadata: { annotations: { [ANNOTATION_DRAIN]: text ?? null } } });
}

/** Seconds, in which four nodes move with some seconds in between. */
const WINDOW = "15s";
const MORE_NODES = ["n9", "n20", "n25"];

const OWN_SIDE = {
  apiVersion: "about.k8s.io/v1beta1",
  kind: "ClusterProperty",
  metadata: { name: "cluster.clusterset.k8s.io" },
};

const FROM_C2 = "multicluster.kubernetes.io/source-cluster=c2";

/** c2, as c1 knows it. */
const PEER = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { namespace: "clusterset-proxy", name: "peer-c2" },
};

async function untilMessage(cluster: StagedCluster, key: string, pattern: RegExp): Promise<void> {
  await eventually(async () => {
    const found = await cluster.find(IMPORT, key);
    const status = found?.status as
      | { conditions?: { type: string; message: string }[] }
      | undefined;
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    assert.match(ready?.message ?? "", pattern, cluster.log);
  });
}

// Side by side: each has a stage of its own, and waits most of the time.
describe("drains", { concurrency: true }, () => {
  test("on real API servers and connections, a cluster is drained from its own side and from an importer's: established connections stay, new ones go elsewhere, and it returns by itself", async () => {
    await using stage = await ClusterSetStage.open({ flags: ["--return-window", "5s"] });
    const [c1, c2, c3] = [stage.cluster("c1"), stage.cluster("c2"), stage.cluster("c3")];
    await c2.export(SERVICE);
    const { spec } = await c1.untilImported(SERVICE, ["10.2.0.11"]);
    await c3.export(SERVICE);
    await c1.untilImported(SERVICE, ["10.2.0.11", "10.3.0.11"]);
    const [vip = ""] = (spec as { ips: string[] }).ips;
    const client = stage.connect(vip, 280);
    const settled = (wanted: string, from: number) =>
      client.settled(wanted, from, () => stage.log, PATIENCE_MS);
    await settled("c2", 0);
    const held = await client.hold();
    assert.equal(held.name, "c2/web");
    const addresses = Object.fromEntries(CLUSTERS.map(({ id, address }) => [id, address]));
    for (const [plane, object] of [
      [c2.plane, OWN_SIDE],
      [c1.plane, PEER],
    ] as const) {
      const from = client.attempts.length;
      await drain(plane, object, DRAIN_MS);
      assert.deepEqual(await settled("c3", from), [], "no connection fails");
      await c1.untilReady(SERVICE, { [addresses.c2 ?? ""]: "serving" });
      const elsewhere = plane === c2.plane ? "serving" : "ready";
      await c3.untilReady(SERVICE, { [addresses.c2 ?? ""]: elsewhere });
      await untilMessage(c1, SERVICE, / Drained: c2 until \S+Z by ann \(kernel upgrade\)\.$/);
      const back = client.attempts.length;
      assert.deepEqual(await settled("c2", back), [], "it ends by itself");
      await untilMessage(c1, SERVICE, /^ClusterSetIP [\d.]+\.$/);
    }
    const from = client.attempts.length;
    await drain(c2.plane, OWN_SIDE, DRAIN_MS);
    await settled("c3", from);
    await stage.scale("c3", false);
    assert.deepEqual(await settled("c2", client.attempts.length), [], "it is the last resort");
    await drain(c2.plane, OWN_SIDE);
    await c1.untilReady(SERVICE, { [addresses.c2 ?? ""]: "ready" });
    assert.equal(held.fault, undefined);
    await held.close();
  });

  test("on a real hub, the namespace of a registry drains its cluster in all clusters, until the annotation is removed", async () => {
    await using stage = await ControllerStage.open({ clusters: ["c1", "c2"], registry: "hub" });
    await stage.start();
    const [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
    await c2.namespace("shop");
    await c1.serve("shop/web", ["10.1.0.7"]);
    await c1.export("shop/web");
    for (const cluster of [c1, c2]) await cluster.untilReady("shop/web", { "10.1.0.7": "ready" });
    const metadata = { name: registryNamespace("c1") };
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata };
    await drain(stage.hub, namespace, 600_000);
    for (const cluster of [c1, c2]) {
      await cluster.untilReady("shop/web", { "10.1.0.7": "serving" });
      await untilMessage(
        cluster,
        "shop/web",
        / Drained: c1 until \S+Z by ann \(kernel upgrade\)\.$/,
      );
    }
    await drain(stage.hub, namespace);
    for (const cluster of [c1, c2]) await cluster.untilReady("shop/web", { "10.1.0.7": "ready" });
  });

  test("within --drain-window and --return-window each node moves at its own moment, and none before, while no controller runs", async () => {
    const flags = ["--drain-window", WINDOW, "--return-window", WINDOW];
    await using stage = await ClusterSetStage.open({ flags, moreNodes: MORE_NODES });
    const [c1, c2, c3] = [stage.cluster("c1"), stage.cluster("c2"), stage.cluster("c3")];
    await c2.export(SERVICE);
    await c3.export(SERVICE);
    await c1.untilImported(SERVICE, ["10.2.0.11", "10.3.0.11"]);
    const agents = [["n1", stage.agent] as const, ...stage.moreAgents];
    const nodes = agents.map(([name, agent]) => ({ name, agent, share: nodeShare(name) }));
    nodes.sort((a, b) => a.share - b.share);
    const uses = async ({ agent }: (typeof nodes)[number], address: string) =>
      (await agent.node.exec(["iptables-save"])).includes(`--to-destination ${address}:8080`);
    const goOneByOne = async (address: string, { from, length }: Shift) => {
      const order: string[] = [];
      const early: string[] = [];
      const sizes = new Set<number>();
      await eventually(async () => {
        for (const node of nodes.filter(({ name }) => !order.includes(name))) {
          if (!(await uses(node, address))) continue;
          order.push(node.name);
          if (Date.now() < from + node.share * length) early.push(node.name);
        }
        sizes.add(order.length);
        assert.equal(order.length, nodes.length, `only ${order.join()}\n${stage.log}`);
      });
      assert.deepEqual(early, []);
      assert.deepEqual(
        order,
        nodes.map(({ name }) => name),
      );
      for (let size = 1; size < nodes.length; size++) assert.ok(sizes.has(size), `never ${size}`);
    };
    const shifted = (direction: string) =>
      eventually(async () => {
        const [slice] = (await c1.list(SLICE, "shop", FROM_C2)).map((one) => parseShift(one));
        assert.equal(slice?.direction, direction, c1.log);
        return slice as Shift;
      });
    for (const node of nodes)
      await eventually(async () => assert.ok(await uses(node, "10.2.0.11"), stage.log));
    await drain(c1.plane, PEER, 600_000);
    const draining = await shifted("draining");
    await c1.kill();
    await goOneByOne("10.3.0.11", draining);
    // A cluster that returns while nodes are leaving it needs no window.
    await sleep(Math.max(0, draining.from + draining.length - Date.now()));
    // A controller that did not see how long it was drained takes it for long.
    await c1.replace();
    await drain(c1.plane, PEER);
    const returning = await shifted("returning");
    await c1.kill();
    await goOneByOne("10.2.0.11", returning);
  });
});
