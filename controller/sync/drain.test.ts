import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

const MINUTE = 60_000;
const USED = { "shop/web": "vip 10.1.0.7" };
const LAST = { "shop/web": "vip 10.1.0.7(serving)" };

async function open(...flags: readonly string[]) {
  const world = new ControllerWorld(["c1", "c2", "c3"]);
  for (const cluster of world.clusters) {
    cluster.flags = flags;
    cluster.namespace("shop");
  }
  const [c1, c2, c3] = world.clusters;
  c1.offer("shop/web", ["10.1.0.7"]);
  await world.run(40_000);
  for (const cluster of world.clusters) assert.deepEqual(cluster.imported(), USED);
  return { world, c1, c2, c3 };
}

test("a cluster that drains itself is a last resort everywhere, its own clients included, until the drain ends by itself", async () => {
  const { world, c1, c2, c3 } = await open();
  c1.annotate(world.drain(10));
  await world.pass(5000);
  for (const cluster of [c1, c2, c3]) assert.deepEqual(cluster.imported(), LAST);
  const message =
    /^True Ready ClusterSetIP [\d.]+\. Drained: c1 until 2026-06-01T00:10:\d\d\.\d{3}Z by ann \(kernel upgrade\)\.$/;
  assert.match(c2.ready(), message);
  await world.pass(11 * MINUTE);
  for (const cluster of [c1, c2, c3]) assert.deepEqual(cluster.imported(), USED);
  assert.match(c2.ready(), /^True Ready ClusterSetIP [\d.]+\.$/);
});

test("a drain on a peer's Secret takes effect in that cluster alone, also if the peer cannot be reached", async () => {
  const { world, c1, c2, c3 } = await open();
  c2.introduce("c1", "to c1", world.drain(10));
  await world.pass(2000);
  assert.deepEqual([c1.imported(), c2.imported(), c3.imported()], [USED, LAST, USED]);
  c1.server.fail();
  await world.pass(12 * MINUTE);
  assert.deepEqual(c2.imported(), LAST);
  c1.server.down = false;
  await world.pass(MINUTE);
  assert.deepEqual(c2.imported(), USED);
});

test("an invalid drain is reported, and drains nothing", async () => {
  const { world, c1, c2 } = await open();
  c1.annotate({ "clusterset-proxy.io/drain": "from=2026-06-01T00:00:00Z; by=ann" });
  c2.introduce("c1", "to c1", { "clusterset-proxy.io/drain": "true" });
  await world.pass(5000);
  for (const cluster of [c1, c2]) {
    assert.deepEqual(cluster.imported(), USED);
    assert.deepEqual(cluster.metrics.refusedOf(undefined), { "invalid-drain": 1 });
  }
});

test("a peer cannot drain another one: each registry's Lease speaks for its own cluster", async () => {
  const { world, c1, c2, c3 } = await open();
  c2.offer("shop/web", ["10.2.0.7"]);
  await world.pass(40_000);
  c2.annotate(world.drain(10, "c1"));
  await world.pass(5000);
  for (const cluster of [c1, c2, c3]) {
    assert.deepEqual(cluster.imported(), { "shop/web": "vip 10.1.0.7 10.2.0.7(serving)" });
  }
});

test("a peer that drains itself for seconds, again and again, causes one change in 30 seconds at most, and a drain of an operator here takes effect at once", async () => {
  const { world, c1, c2 } = await open();
  const before = c2.server.writes.length;
  for (let count = 0; count < 20; count++) {
    c1.annotate({ "clusterset-proxy.io/drain": `from=${world.timeIn()}; for=3s` });
    await world.pass(31_000);
  }
  const slices = c2.writesAfter(before).filter(({ kind }) => kind === "endpointslices").length;
  assert.ok(slices > 0 && slices <= 21, `${slices} writes in 620 s`);
  c2.introduce("c1", "to c1", world.drain(1));
  await world.pass(2000);
  assert.deepEqual(c2.imported(), LAST);
  c1.annotate({});
  await world.pass(3 * MINUTE);
  assert.deepEqual(c2.imported(), USED);
});

test("slices show nodes the windows in which they leave and return, also when the controller is killed in between, and need no write at their end", async () => {
  const { world, c1, c2 } = await open("--drain-window", "600s", "--return-window", "60s");
  c1.annotate(world.drain(20));
  await world.pass(5000);
  const [draining] = c2.shifts();
  assert.match(String(draining), /^from=2026-06-01T00:00:\S+; for=600s; direction=draining$/);
  c2.kill();
  c2.start();
  const writes = c2.server.writes.length;
  await world.pass(15 * MINUTE);
  assert.deepEqual(c2.shifts(), [draining]);
  const slices = () => c2.writesAfter(writes).filter(({ kind }) => kind === "endpointslices");
  assert.deepEqual(slices(), []);
  await world.pass(6 * MINUTE);
  assert.deepEqual(c2.imported(), USED);
  const [returning] = c2.shifts();
  assert.match(String(returning), /^from=2026-06-01T00:20:\S+; for=60s; direction=returning$/);
  c2.kill();
  c2.start();
  await world.pass(5 * MINUTE);
  assert.deepEqual(c2.shifts(), [returning]);
  assert.equal(slices().length, 1);
});

test("a cluster that drains itself while the hub is down leaves its own endpoints at once, also after a restart", async () => {
  const world = ControllerWorld.withHub(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  const { hub } = world;
  assert.ok(c1 && c2 && hub);
  for (const cluster of world.clusters) cluster.namespace("shop");
  c1.offer("shop/web", ["10.1.0.7"]);
  world.start();
  // Its description has just changed, and changes again after 30 s only.
  await world.pass(40_000);
  hub.fail();
  c1.annotate(world.drain(10));
  await world.pass(5000);
  assert.deepEqual(c1.imported(), LAST);
  c1.kill();
  c1.start();
  for (let seconds = 0; seconds < 60; seconds++) {
    await world.pass(1000);
    assert.deepEqual(c1.imported(), LAST);
  }
  hub.down = false;
  await world.pass(30_000);
  assert.deepEqual(c2.imported(), LAST, "published now");
  hub.fail();
  c1.kill();
  await world.pass(11 * MINUTE);
  assert.deepEqual(c1.imported(), LAST);
  c1.start();
  await world.pass(30_000);
  assert.deepEqual(c1.imported(), USED, "it is over, whatever the hub shows");
  hub.down = false;
  await world.pass(MINUTE);
  for (const cluster of world.clusters) assert.deepEqual(cluster.imported(), USED);
});
