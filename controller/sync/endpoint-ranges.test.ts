import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

const NAMESPACE = "clusterset-registry-c1";
const REFUSED = 'refused_parts{from="member",reason="outside-endpoint-cidrs"}';

/** Two members of a hub, of which c1 exports two endpoints, one in each of two ranges. */
async function start() {
  const world = ControllerWorld.withHub(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  assert.ok(c1 && c2 && world.hub);
  const { objects } = world.hub;
  for (const cluster of world.clusters) cluster.namespace("shop");
  c1.offer("shop/web", ["10.1.0.7", "10.9.0.9"]);
  const declare = (ranges: string): void => {
    const annotations = { "clusterset-proxy.io/endpoint-cidrs": ranges };
    const labels = { "clusterset-proxy.io/registry": "c1" };
    const metadata = { name: NAMESPACE, labels, annotations };
    objects.apply("namespaces", NAMESPACE, { kind: "Namespace", metadata }, "author");
  };
  return { world, c1, c2, declare };
}

test("on a hub the ranges declared on a namespace limit endpoints, and changes apply", async () => {
  const { world, c2, declare } = await start();
  declare("10.1.0.0/16");
  world.start();
  await world.pass(15_000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
  assert.match(await c2.metrics.text(), new RegExp(`${REFUSED} 1\n`));
  declare("10.1.0.0/16,10.9.0.0/16");
  await world.pass(5000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7 10.9.0.9" });
  declare("everything");
  await world.pass(5000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7 10.9.0.9" }, "as it was");
  declare("10.9.0.0/16");
  await world.pass(5000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.9.0.9" });
});

test("a member with invalid ranges after a restart keeps its imports", async () => {
  const { world, c2, declare } = await start();
  world.start();
  await world.pass(15_000);
  const imported = { "shop/web": "vip 10.1.0.7 10.9.0.9" };
  assert.deepEqual(c2.imported(), imported);
  declare("everything");
  await c2.restart();
  await world.pass(20_000);
  assert.deepEqual(c2.imported(), imported);
  declare("10.1.0.0/16");
  await world.pass(5000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
});
