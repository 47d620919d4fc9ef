import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { registryNamespace } from "../../controller/registry/names.ts";
import { JoinedClusters } from "./joined-clusters.ts";

// The same with a hub. One ID has a dot, so that its registry has another name than in deploy/rbac.

const JOIN = ["--clusterset", "prod", "--hub", "hub", "--no-wait", "--yes", "--id", "c2=c2.eu"];

let set: JoinedClusters;
before(async () => {
  set = await JoinedClusters.open("c1", "c2", "hub");
});
after(() => set?.[Symbol.asyncDispose]());

test("clusters that joined a hub import each other's exports, within the ranges that the hub has for them", async () => {
  await set.run("join", "c1", "c2", ...JOIN);
  await set.start(["c1", "c2"], "hub");
  const [c1, c2] = [set.cluster("c1"), set.cluster("c2")];
  await c1.namespace("shop");
  await c2.serve("shop/web", ["10.2.3.7", "10.7.0.1"]);
  await c2.export("shop/web");
  await c1.untilImported("shop/web", ["10.2.3.7"]);
  const { metadata } = await set.plane("hub").admin.get({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: registryNamespace("c2.eu") },
  });
  assert.deepEqual((metadata as { annotations?: object }).annotations, {
    "clusterset-proxy.io/endpoint-cidrs": "10.2.0.0/16",
  });
});

test("a second join writes nothing, on the hub neither", async () => {
  const { out } = await set.run("join", "c1", "c2", ...JOIN);
  assert.match(out, /^hub +unchanged +clusterset-members\/secret\/c2\.eu$/m);
  assert.match(out, /^nothing to do$/m);
});

test("members of a hub cannot join a mesh", async () => {
  const { code, note } = await set.user.run(
    ...["join", "c1", "c2", "--clusterset", "prod", "--yes", "--id", "c2=c2.eu"],
  );
  assert.equal(code, 1);
  assert.match(note, /c1: its controller uses a hub\. A clusterset uses a mesh or a hub/);
});
