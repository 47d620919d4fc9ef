import assert from "node:assert/strict";
import { test } from "node:test";
import { at } from "../../test/doubles/memory/fields.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";

const QUOTA =
  'serviceimports.multicluster.x-k8s.io "api.shop" is forbidden: exceeded quota: registry, requested: count=1, used: count=1, limited: count=1';

/** The numbers of an import's ports. */
function portsOf(cluster: MemoryCluster, key: string): unknown[] {
  const object = cluster.server.objects.get("serviceimports", key);
  const ports = at(object, ["spec", "ports"]);
  return Array.isArray(ports) ? ports.map((port) => at(port, ["port"])) : [];
}

test("an export that a ResourceQuota rejects does not block the other exports for a restarted peer", async () => {
  const world = new ControllerWorld(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  for (const cluster of world.clusters) cluster.namespace("shop");
  c1.server.denied.set("clusterset-registry-c1/api.shop", QUOTA);
  for (const name of ["shop/web", "shop/api"]) {
    c1.offer(name, ["10.1.0.7"]);
  }
  world.start();
  await world.pass(20_000);
  assert.deepEqual(Object.keys(c2.imported()), ["shop/web"]);
  for (const cluster of world.clusters) {
    await cluster.restart();
  }
  await world.pass(60_000);
  c1.serve("shop/web", ["10.1.0.7"], [], 8080);
  await world.pass(20_000);
  for (const cluster of world.clusters) assert.deepEqual(portsOf(cluster, "shop/web"), [8080]);
});
