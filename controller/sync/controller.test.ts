import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerWorld } from "../../test/support/controller-world.ts";

test("an export is imported by every cluster that has its namespace, and a world at rest writes nothing", async () => {
  const world = new ControllerWorld(["c1", "c2", "c3"]);
  const [c1, c2, c3] = world.clusters;
  assert.ok(c1 && c2 && c3);
  for (const cluster of [c1, c2]) cluster.namespace("shop");
  world.start();
  c1.serve("shop/web", ["10.1.0.7"]);
  c1.export("shop/web");
  await world.pass(5000);
  assert.deepEqual(c1.imported(), { "shop/web": "vip 10.1.0.7" });
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
  assert.deepEqual(c3.imported(), {});
  const counts = world.clusters.map(({ server }) => server.writes.length);
  await world.pass(120_000);
  world.clusters.forEach((cluster, i) => {
    assert.deepEqual(cluster.writesAfter(counts[i] ?? 0), []);
  });
  await world.stop();
});
