import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { registryNamespace } from "../../controller/registry/names.ts";
import { manifest } from "../generators/objects.ts";
import { JoinedClusters } from "./joined-clusters.ts";

// The same with a hub. One ID has a dot, so that its registry has another name than in deploy/rbac.

const SET = ["--clusterset", "prod", "--hub", "hub", "--id", "c2=c2.eu"];
const JOIN = [...SET, "--no-wait", "--yes", "--skip-reachability"];

let set: JoinedClusters;
before(async () => {
  set = await JoinedClusters.open(["c1", "c2", "hub"]);
});
after(() => set?.[Symbol.asyncDispose]());

test("clusters that joined a hub import each other's exports, within the ranges that the hub has for them", async () => {
  await set.run("join", "c1", "c2", ...JOIN);
  await set.start(["c1", "c2"], "hub");
  const [c1, c2] = [set.cluster("c1"), set.cluster("c2")];
  await c1.namespace("shop");
  await c2.offer("shop/web", "10.2.3.7", "10.7.0.1");
  await c1.untilImported("shop/web", ["10.2.3.7"]);
  const registry = manifest("Namespace", registryNamespace("c2.eu"));
  const { metadata } = await set.plane("hub").admin.get(registry);
  assert.deepEqual(metadata.annotations, { "clusterset-proxy.io/endpoint-cidrs": "10.2.0.0/16" });
});

test("a second join writes nothing, on the hub neither", async () => {
  const { out } = await set.run("join", "c1", "c2", ...JOIN);
  assert.match(out, /^hub +unchanged +clusterset-members\/secret\/c2\.eu$/m);
  assert.match(out, /^nothing to do$/m);
});

test("a cluster that exports pods on the host network is told so: the export that no other cluster uses, and the next join", async () => {
  const c2 = set.cluster("c2");
  await c2.offer("shop/ingress", "172.20.2.4");
  await c2.untilCondition("shop/ingress", "Ready", "False EndpointsLeftOut");
  await c2.untilCondition("shop/web", "Ready", "True Exported");
  const { note } = await set.run("join", "c1", "c2", ...JOIN);
  assert.match(
    note,
    /^warning: c2: 2 exported Services have 2 endpoints outside 10\.2\.0\.0\/16, such as 172\.20\.2\.4 of shop\/ingress: /m,
  );
});

test("members of a hub cannot join a mesh", async () => {
  const argv = ["join", "c1", "c2", "--clusterset", "prod", "--yes", "--id", "c2=c2.eu"];
  const { code, note } = await set.user.run(...argv);
  assert.equal(code, 1);
  assert.match(note, /c1: Its controller uses a hub, .*\. A clusterset uses a mesh or a hub/);
});

test("rotate waits until the mounted file has the new token, and ends the first one then", async () => {
  let isRotated = false;
  const rotated = set.run("rotate", "c1", "c2", "--hub", "hub", "--yes").finally(() => {
    isRotated = true;
  });
  // Kubelets update files of Secrets some time later.
  while (!isRotated) {
    await sleep(2000);
    for (const id of ["c1", "c2"]) await set.mountHub(id);
  }
  const { out } = await rotated;
  assert.match(out, /^hub: clusterset-members\/secret\/c1 deleted$/m);
  assert.match(out, /^hub: clusterset-members\/secret\/c2\.eu deleted$/m);
  await set.cluster("c2").endpoints("shop/web", ["10.2.3.9"]);
  await set.cluster("c1").untilImported("shop/web", ["10.2.3.9"]);
  for (const id of ["c1", "c2"]) assert.ok(!set.cluster(id).log.includes("lease-silent"));
});

test("a cluster leaves its hub, which then has nothing of it", async () => {
  const refused = await set.user.run("leave", "c2", "--context", "c1", "--yes");
  assert.match(refused.note, /c2: its registry is on a hub\. Name it with --hub/);
  const { out } = await set.run("leave", "c2", "--yes");
  assert.ok(out.indexOf("no other cluster uses") < out.indexOf("hub: clusterset-members/"));
  await set.cluster("c1").untilGone("shop/web");
  const names = (await set.objects("hub", ["v1 Namespace"])).map(({ metadata }) => metadata.name);
  assert.ok(names.includes(registryNamespace("c1")));
  assert.ok(!names.includes(registryNamespace("c2.eu")));
});
