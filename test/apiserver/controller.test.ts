import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../stages/agent-process.ts";
import { ControllerStage, EXPORT, SLICE, type StagedCluster } from "./controller-stage.ts";

// What application owners see of two real controllers on two real API servers that read each other, besides the cases of
// conformance.test.ts.

const ADDRESS = { apiVersion: "networking.k8s.io/v1", kind: "IPAddress" };

let stage: ControllerStage;
let c1: StagedCluster;
let c2: StagedCluster;
let vip = "";
before(async () => {
  stage = await ControllerStage.open({ clusters: ["c1", "c2"] });
  [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  await c2.namespace("shop");
  await stage.start();
});
after(() => stage[Symbol.asyncDispose]());

/** The import that the IPAddress of the VIP names in c2. */
async function holder(): Promise<string | undefined> {
  const found = await c2.plane.admin.find({ ...ADDRESS, metadata: { name: vip } });
  const spec = found?.spec as { parentRef: Record<string, string> } | undefined;
  return spec && `${spec.parentRef.resource} ${spec.parentRef.namespace}/${spec.parentRef.name}`;
}

test("every cluster imports an export with the same VIP, which has an IPAddress, and follows its endpoints", async () => {
  await c1.offer("shop/web", "10.1.0.7");
  const vips = [];
  for (const cluster of [c1, c2]) {
    const { spec } = await cluster.untilImported("shop/web", ["10.1.0.7"]);
    vips.push((spec as { ips: string[] }).ips.join());
  }
  [vip = ""] = vips;
  assert.equal(vips[0], vips[1], "a hash away, so the same in both");
  assert.equal(await holder(), "serviceimports shop/web");
  await c1.endpoints("shop/web", ["10.1.0.8", "10.1.0.9"]);
  await c2.untilImported("shop/web", ["10.1.0.8", "10.1.0.9"]);
});

test("Events describe a conflict and its end, and no request was forbidden", async () => {
  await c2.serve("shop/web", ["10.2.0.7"], {
    ports: [{ name: "http", port: 81, protocol: "TCP" }],
  });
  await sleep(1100); // Exports have whole seconds: which of them is older shall not hang on a name.
  await c2.export("shop/web");
  await c2.untilCondition("shop/web", "Conflict", "True PortConflict");
  // Port 81 is not a port of the service: it gets no connections.
  await c2.untilCondition("shop/web", "Ready", "False EndpointsLeftOut");
  await c2.serve("shop/web", ["10.2.0.7"]);
  for (const cluster of [c1, c2]) {
    await cluster.untilCondition("shop/web", "Conflict", "False NoConflicts");
    await cluster.untilCondition("shop/web", "Ready", "True Ready");
    await cluster.untilImported("shop/web", ["10.1.0.8", "10.1.0.9", "10.2.0.7"]);
  }
  // An Event is written after the condition that it describes.
  await eventually(async () => {
    const events = await c2.list({ apiVersion: "v1", kind: "Event" }, "shop");
    const reported = events.map(({ type, reason }) => `${String(type)} ${String(reason)}`);
    assert.ok(reported.includes("Warning PortConflict"), reported.join());
    assert.ok(reported.includes("Normal NoConflicts"), reported.join());
  });
  for (const cluster of stage.clusters) {
    assert.doesNotMatch(cluster.log, /forbidden/);
    assert.equal(await cluster.page("/readyz"), "ok\n");
    const metrics = await cluster.page("/metrics");
    assert.doesNotMatch(metrics, /result="403"/);
    assert.match(metrics, /^clusterset_controller_leader 1$/m);
  }
});

test("a restarted controller writes nothing, and neither does an idle one; a change of one export is one write", async () => {
  await c2.atRest();
  const before = c2.writes().length;
  await c2.stop();
  await c2.launch();
  await c2.untilLogged("this replica reconciles");
  await sleep(3000);
  assert.deepEqual(c2.writes().slice(before), []);
  await c1.endpoints("shop/web", ["10.1.0.8"]);
  await c2.untilImported("shop/web", ["10.1.0.8", "10.2.0.7"]);
  await c2.atRest();
  const verbs = c2
    .writes()
    .slice(before)
    .map(({ verb }) => verb);
  assert.deepEqual(verbs, ["patch"]);
});

test("a deleted export leaves no slice, and no IPAddress; without a peer's Secret, its exports are withdrawn", async () => {
  await c1.offer("shop/late", "10.1.0.10");
  await c2.untilImported("shop/late", ["10.1.0.10"]);
  const metadata = { namespace: "shop", name: "web" };
  for (const { plane } of [c1, c2]) await plane.admin.delete({ ...EXPORT, metadata });
  for (const cluster of [c1, c2]) await cluster.untilGone("shop/web");
  assert.deepEqual(await c2.list(SLICE, "clusterset-registry-c2"), []);
  await eventually(async () => assert.equal(await holder(), undefined, c2.log));
  const secret = { namespace: "clusterset-proxy", name: "peer-c1" };
  await c2.plane.admin.delete({ apiVersion: "v1", kind: "Secret", metadata: secret });
  await c2.untilGone("shop/late");
  await eventually(() => assert.match(c2.log, /no longer a member/));
});
