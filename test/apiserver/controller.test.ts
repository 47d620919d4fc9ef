import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../stages/agent-process.ts";
import { ControllerStage, EXPORT, IMPORT, SLICE, type StagedCluster } from "./controller-stage.ts";

// What application owners see of two real controllers on two real API servers that read each other.

let stage: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
before(async () => {
  stage = await ControllerStage.open({ clusters: ["c1", "c2"] });
  [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  await c2.namespace("shop");
  await stage.start();
});
after(() => stage[Symbol.asyncDispose]());

test("every cluster with the namespace imports an export, with a VIP and all endpoints", async () => {
  await c1.serve("shop/web", ["10.1.0.7", "10.1.0.8"]);
  await c1.export("shop/web");
  const vips = [];
  for (const cluster of [c1, c2]) {
    const { spec } = await cluster.untilImported("shop/web", ["10.1.0.7", "10.1.0.8"]);
    vips.push((spec as { ips: string[] }).ips.join());
  }
  assert.equal(vips[0], vips[1], "a hash away, so the same in both");
  await c1.untilCondition("shop/web", "Valid", "True Valid");
  await c1.untilCondition("shop/web", "Ready", "True Ready");
  await c1.untilCondition("shop/web", "Conflict", "False NoConflicts");
  // The status is written last.
  await eventually(async () => {
    const found = await c2.find(IMPORT, "shop/web");
    assert.partialDeepStrictEqual(found?.status, { clusters: [{ cluster: "c1" }] });
  });
});

test("a change of endpoints is copied, and a namespace that is created later gets its imports", async () => {
  await c1.endpoints("shop/web", ["10.1.0.8", "10.1.0.9"]);
  await c2.untilImported("shop/web", ["10.1.0.8", "10.1.0.9"]);
  await c1.serve("late/web", ["10.1.0.10"]);
  await c1.export("late/web");
  await c1.untilImported("late/web", ["10.1.0.10"]);
  assert.equal(await c2.find(IMPORT, "late/web"), undefined);
  await c2.namespace("late");
  await c2.untilImported("late/web", ["10.1.0.10"]);
});

test("two different exports are one import, and the conditions of both name the winner", async () => {
  await c2.serve("shop/web", ["10.2.0.7"], {
    ports: [{ name: "http", port: 81, protocol: "TCP" }],
  });
  await sleep(1100); // Exports have whole seconds: which of them is older shall not hang on a name.
  await c2.export("shop/web");
  for (const cluster of [c1, c2]) {
    await cluster.untilCondition("shop/web", "Conflict", "True PortConflict");
    // The status of the import is written after its slices.
    await eventually(async () => {
      // Port 81 is not a port of the service: it gets no connections.
      const { status } = await cluster.untilImported("shop/web", ["10.1.0.8", "10.1.0.9"]);
      assert.deepEqual((status as { clusters: unknown }).clusters, [
        { cluster: "c1" },
        { cluster: "c2" },
      ]);
    });
  }
  await c2.untilCondition("shop/web", "Ready", "False EndpointsLeftOut");
  await c2.serve("shop/web", ["10.2.0.7"]);
  for (const cluster of [c1, c2]) {
    await cluster.untilCondition("shop/web", "Conflict", "False NoConflicts");
    await cluster.untilCondition("shop/web", "Ready", "True Ready");
    await cluster.untilImported("shop/web", ["10.1.0.8", "10.1.0.9", "10.2.0.7"]);
  }
});

test("Events describe the result of each export, and no request was forbidden", async () => {
  // An Event is written after the condition that it describes.
  await eventually(async () => {
    const events = await c2.list({ apiVersion: "v1", kind: "Event" }, "shop");
    const reported = events.map(({ type, reason }) => `${String(type)} ${String(reason)}`);
    assert.ok(reported.includes("Warning PortConflict"), reported.join());
    assert.ok(reported.includes("Normal NoConflicts"), reported.join());
  });
  for (const cluster of stage.clusters) {
    assert.doesNotMatch(cluster.log, /forbidden/);
    assert.doesNotMatch(await cluster.page("/metrics"), /result="403"/);
  }
});

test("a restarted controller writes nothing, and neither does an idle one", async () => {
  await c2.atRest();
  const before = c2.writes().length;
  await c2.stop();
  await c2.launch();
  await c2.untilLogged("this replica reconciles");
  await sleep(3000);
  assert.deepEqual(c2.writes().slice(before), []);
});

test("while a peer's API server is down its endpoints are a last resort, and after its return they are as before", async () => {
  await c1.plane.stop();
  await c2.untilReady("shop/web", {
    "10.1.0.8": "serving",
    "10.1.0.9": "serving",
    "10.2.0.7": "ready",
  });
  await c1.plane.start();
  await c2.untilReady("shop/web", {
    "10.1.0.8": "ready",
    "10.1.0.9": "ready",
    "10.2.0.7": "ready",
  });
});

test("every cluster withdraws a deleted export", async () => {
  await c1.plane.admin.delete({ ...EXPORT, metadata: { namespace: "shop", name: "web" } });
  await c1.untilImported("shop/web", ["10.2.0.7"]);
  await c2.untilImported("shop/web", ["10.2.0.7"]);
  await c2.plane.admin.delete({ ...EXPORT, metadata: { namespace: "shop", name: "web" } });
  await c1.untilGone("shop/web");
  await c2.untilGone("shop/web");
  const left = await c2.list(SLICE, "clusterset-registry-c2");
  assert.deepEqual(left, []);
});

test("when a peer's Secret is deleted, the exports of its cluster are withdrawn", async () => {
  const peer = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "clusterset-proxy", name: "peer-c1" },
  };
  await c2.plane.admin.delete(peer);
  await c2.untilGone("late/web");
  await eventually(() => assert.match(c2.log, /no longer a member/));
});

test("/readyz and /metrics show the controller's state", async () => {
  assert.equal(await c1.page("/readyz"), "ok\n");
  const metrics = await c1.page("/metrics");
  assert.match(metrics, /^clusterset_controller_leader 1$/m);
  assert.match(metrics, /^clusterset_controller_cluster_alive{member="c2"} 1$/m);
  assert.match(
    metrics,
    /^clusterset_controller_change_duration_seconds_count{task="import"} \d+$/m,
  );
});
