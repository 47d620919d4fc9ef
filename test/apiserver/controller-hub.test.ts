import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ANNOTATION_ENDPOINT_CIDRS } from "../../api/keys.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { ControllerStage, EXPORT } from "./controller-stage.ts";

// The same by way of a hub: each cluster writes its own namespace there, and reads the others'.

let stage: ControllerStage;
before(async () => {
  stage = await ControllerStage.open({
    ...{ clusters: ["c1", "c2"], registry: "hub" },
    // Stale for c2 while the hub is down.
    shortLeases: ["c1"],
  });
  await stage.start();
});
after(() => stage[Symbol.asyncDispose]());

test("with a hub, clusters import each other's exports until they are withdrawn", async () => {
  const [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  await c2.namespace("shop");
  await c1.serve("shop/web", ["10.1.0.7"]);
  await c1.export("shop/web");
  for (const cluster of [c1, c2]) await cluster.untilImported("shop/web", ["10.1.0.7"]);
  await c1.untilCondition("shop/web", "Ready", "True Exported");
  await c1.plane.admin.delete({ ...EXPORT, metadata: { namespace: "shop", name: "web" } });
  for (const cluster of [c1, c2]) await cluster.untilGone("shop/web");
});

test("the ranges that the hub declares for a cluster limit its endpoints in the others, also after a change", async () => {
  const [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  const declare = (ranges: string) =>
    stage.hub.admin.patch(
      { apiVersion: "v1", kind: "Namespace", metadata: { name: registryNamespace("c1") } },
      { metadata: { annotations: { [ANNOTATION_ENDPOINT_CIDRS]: ranges } } },
    );
  await declare("10.1.0.0/16");
  await c1.serve("shop/own", ["10.1.0.8", "10.9.0.9"]);
  await c1.export("shop/own");
  await c2.untilImported("shop/own", ["10.1.0.8"]);
  await c1.untilImported("shop/own", ["10.1.0.8", "10.9.0.9"]);
  await declare("0.0.0.0/0,::/0");
  await c2.untilImported("shop/own", ["10.1.0.8", "10.9.0.9"]);
});

test("while the hub is down a cluster uses its own endpoints, all others are a last resort, and none is deleted", async () => {
  const [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  await c1.serve("shop/api", ["10.1.0.9"]);
  await c1.export("shop/api");
  const { spec } = await c2.untilImported("shop/api", ["10.1.0.9"]);
  await stage.hub.stop();
  await c2.untilReady("shop/api", { "10.1.0.9": "serving" });
  await c1.untilReady("shop/api", { "10.1.0.9": "ready" });
  await stage.hub.start();
  for (const cluster of [c1, c2]) await cluster.untilReady("shop/api", { "10.1.0.9": "ready" });
  const after = await c2.untilImported("shop/api", ["10.1.0.9"]);
  assert.deepEqual(after.spec, spec);
});
