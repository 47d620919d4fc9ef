import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../support/agent-process.ts";
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

test("what one cluster exports, every cluster with the namespace imports, with a VIP and all endpoints", async () => {
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
  const status = (await c2.find(IMPORT, "shop/web"))?.status;
  assert.deepEqual((status as { clusters: unknown }).clusters, [{ cluster: "c1" }]);
});

test("a change of endpoints arrives, and a namespace that comes later gets what is exported", async () => {
  await c1.endpoints("shop/web", ["10.1.0.8", "10.1.0.9"]);
  await c2.untilImported("shop/web", ["10.1.0.8", "10.1.0.9"]);
  await c1.serve("late/web", ["10.1.0.10"]);
  await c1.export("late/web");
  await c1.untilImported("late/web", ["10.1.0.10"]);
  assert.equal(await c2.find(IMPORT, "late/web"), undefined);
  await c2.namespace("late");
  await c2.untilImported("late/web", ["10.1.0.10"]);
});

test("two exports that differ are one import, and both authors are told who counts", async () => {
  await c2.serve("shop/web", ["10.2.0.7"], {
    ports: [{ name: "http", port: 81, protocol: "TCP" }],
  });
  await sleep(1100); // Exports have whole seconds: which of them is older shall not hang on a name.
  await c2.export("shop/web");
  for (const cluster of [c1, c2]) {
    await cluster.untilCondition("shop/web", "Conflict", "True PortConflict");
    // Port 81 is not the service's: nobody is sent to where it leads.
    const { status } = await cluster.untilImported("shop/web", ["10.1.0.8", "10.1.0.9"]);
    assert.deepEqual((status as { clusters: unknown }).clusters, [
      { cluster: "c1" },
      { cluster: "c2" },
    ]);
  }
  await c2.serve("shop/web", ["10.2.0.7"]);
  for (const cluster of [c1, c2]) {
    await cluster.untilCondition("shop/web", "Conflict", "False NoConflicts");
    await cluster.untilImported("shop/web", ["10.1.0.8", "10.1.0.9", "10.2.0.7"]);
  }
});

test("authors find in Events what became of their exports, and nothing that was asked for was forbidden", async () => {
  const events = await c2.list({ apiVersion: "v1", kind: "Event" }, "shop");
  const told = events.map(({ type, reason }) => `${String(type)} ${String(reason)}`);
  assert.ok(told.includes("Warning PortConflict"), told.join());
  assert.ok(told.includes("Normal NoConflicts"), told.join());
  for (const cluster of stage.clusters) {
    assert.doesNotMatch(cluster.log, /forbidden/);
    assert.doesNotMatch(await cluster.page("/metrics"), /result="403"/);
  }
});

test("a controller that starts again writes nothing, and nor does one at rest", async () => {
  await c2.atRest();
  const before = c2.writes().length;
  await c2.stop();
  await c2.launch();
  await c2.untilLogged("this replica works");
  await sleep(3000);
  assert.deepEqual(c2.writes().slice(before), []);
});

test("while a peer's API server is away its endpoints are a last resort, and when it is back they are as before", async () => {
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

test("what is no longer exported is withdrawn, by everybody", async () => {
  await c1.plane.admin.delete({ ...EXPORT, metadata: { namespace: "shop", name: "web" } });
  await c1.untilImported("shop/web", ["10.2.0.7"]);
  await c2.untilImported("shop/web", ["10.2.0.7"]);
  await c2.plane.admin.delete({ ...EXPORT, metadata: { namespace: "shop", name: "web" } });
  await c1.untilGone("shop/web");
  await c2.untilGone("shop/web");
  const left = await c2.list(SLICE, "clusterset-registry-c2");
  assert.deepEqual(left, []);
});

test("a Secret that is deleted takes what its cluster exports with it", async () => {
  const peer = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "clusterset-proxy", name: "peer-c1" },
  };
  await c2.plane.admin.delete(peer);
  await c2.untilGone("late/web");
  await eventually(() => assert.match(c2.log, /no member any more/));
});

test("/readyz and /metrics say how it fares", async () => {
  assert.equal(await c1.page("/readyz"), "ok\n");
  const metrics = await c1.page("/metrics");
  assert.match(metrics, /^clusterset_controller_leader 1$/m);
  assert.match(metrics, /^clusterset_controller_cluster_alive{cluster="c2"} 1$/m);
  assert.match(
    metrics,
    /^clusterset_controller_change_duration_seconds_count{task="import"} \d+$/m,
  );
});
