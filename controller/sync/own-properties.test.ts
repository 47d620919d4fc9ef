import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

const ID = "cluster.clusterset.k8s.io";

test("the creation of a ClusterProperty is retried until it succeeds, and the failure is logged once", async () => {
  const world = new ControllerWorld(["c1"]);
  const [c1] = world.clusters;
  c1.server.denied.set(ID, "a webhook is unavailable");
  world.start();
  await world.pass(40_000);
  assert.equal(c1.server.objects.get("clusterproperties", ID), undefined);
  assert.equal(c1.log.filter((line) => line.includes("Failed to create")).length, 1);

  c1.server.denied.clear();
  await world.pass(60_000);
  assert.equal(at(c1.server.objects.get("clusterproperties", ID), ["spec", "value"]), "c1");
  const { length } = c1.server.writes;
  await world.pass(120_000);
  const later = c1.server.writes.slice(length).map(({ kind }) => kind);
  assert.ok(!later.includes("clusterproperties"));
});
