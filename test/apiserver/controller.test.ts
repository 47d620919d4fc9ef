import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ControllerStage } from "./controller-stage.ts";

// What application owners see of two real controllers on two real API servers that read each other.

let stage: ControllerStage;
before(async () => {
  stage = await ControllerStage.open({ clusters: ["c1", "c2"] });
  await stage.start();
});
after(() => stage[Symbol.asyncDispose]());

test("what one cluster exports, every cluster with the namespace imports, with a VIP and all endpoints", async () => {
  const [c1, c2] = [stage.cluster("c1"), stage.cluster("c2")];
  await c2.plane.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  await c1.serve("shop/web", ["10.1.0.7", "10.1.0.8"]);
  await c1.export("shop/web");
  const imported = [];
  for (const cluster of [c1, c2]) {
    imported.push(await cluster.untilImported("shop/web", ["10.1.0.7", "10.1.0.8"]));
  }
  const [here, there] = imported.map(({ spec }) => (spec as { ips: string[] }).ips.join());
  assert.equal(here, there, "a hash away, so the same in both");
});
