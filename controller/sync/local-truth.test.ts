import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forMany } from "../../test/generators/for-all.ts";
import { ControllerWorld } from "../../test/stages/controller-world.ts";

// A cluster's own endpoints reach its own imports whatever happens to its registry.

/** `RUNS=1000` searches for rare failures. */
const RUNS = Number(process.env.RUNS ?? 5);
const REGISTRY = "clusterset-registry-c1";

/** Two clusters and a hub; c1 exports shop/web with the endpoint 10.1.0.7. */
async function onHub() {
  const world = ControllerWorld.withHub(["c1", "c2"]);
  const { hub } = world;
  assert.ok(hub);
  for (const cluster of world.clusters) cluster.namespace("shop");
  const c1 = world.cluster("c1");
  c1.offer("shop/web", ["10.1.0.7"]);
  await world.run(60_000);
  assert.deepEqual(c1.imported(), { "shop/web": "vip 10.1.0.7" });
  return { world, hub, c1, c2: world.cluster("c2") };
}

/** A tenth of a second, in small steps: a request of the memory's API servers takes three milliseconds. */
async function soon(world: ControllerWorld): Promise<void> {
  for (let step = 0; step < 20; step++) await world.pass(5);
}

test("while the hub is down, own endpoints, Services and exports change the own import, and others follow later", async () => {
  const { world, hub, c1, c2 } = await onHub();
  hub.fail();
  c1.serve("shop/web", ["10.1.0.7", "10.1.0.8"], ["10.1.0.7"]);
  c1.offer("shop/api", ["10.1.0.9"]);
  await soon(world);
  const now = { "shop/api": "vip 10.1.0.9", "shop/web": "vip 10.1.0.7(dead) 10.1.0.8" };
  assert.deepEqual(c1.imported(), now);
  await world.pass(60_000);
  assert.match(c2.imported()["shop/web"] ?? "", /^vip 10.1.0.7\(serving\)$/);
  c1.delete("ServiceExport", "shop/api");
  await soon(world);
  assert.deepEqual(Object.keys(c1.imported()), ["shop/web"]);
  hub.down = false;
  await world.pass(60_000);
  assert.deepEqual(c2.imported(), { "shop/web": now["shop/web"] });
});

test("what the hub rejects is imported all the same, is not said to be published, and takes part in no conflict that others could see", async () => {
  const { world, hub, c1, c2 } = await onHub();
  hub.denied.set(`${REGISTRY}/web.shop.v4-0`, "exceeded quota");
  c1.serve("shop/web", ["10.1.0.8"]);
  await soon(world);
  assert.deepEqual(c1.imported(), { "shop/web": "vip 10.1.0.8" });
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
  assert.match(c1.ready("shop/web", "serviceexports"), /^False Failed /);
  c2.serve("shop/api", ["10.2.0.9"], [], 81);
  c2.export("shop/api");
  await world.pass(5000);
  hub.denied.set(`${REGISTRY}/api.shop`, "exceeded quota");
  c1.offer("shop/api", ["10.1.0.9"]);
  await world.pass(5000);
  assert.equal(c1.imported()["shop/api"], "vip 10.2.0.9");
  assert.match(c1.ready("shop/api", "serviceexports"), /^False Failed /);
  for (const cluster of [c1, c2]) {
    const { reason } = cluster.condition("serviceexports", "shop/api", "Conflict");
    assert.equal(reason, "NoConflicts");
  }
});

test("a controller that starts while the hub is down follows own endpoints after ten seconds, and rewrites nothing", async () => {
  const { world, hub, c1 } = await onHub();
  const addresses = Array.from({ length: 250 }, (_, n) => `10.1.1.${n}`);
  c1.offer("shop/big", addresses);
  await world.pass(5000);
  // Removed from its middle slice, so that a fresh distribution would be another one.
  c1.serve("shop/big", addresses.toSpliced(120, 1));
  await world.pass(5000);
  const before = c1.imported();
  hub.fail();
  await c1.stop();
  const { length } = c1.server.writes;
  c1.start();
  await world.pass(30_000);
  assert.equal(c1.controller?.permission.isGranted, true);
  assert.deepEqual(c1.imported(), before);
  assert.deepEqual(c1.writesAfter(length), []);
  c1.serve("shop/web", ["10.1.0.8"]);
  await soon(world);
  assert.equal(c1.imported()["shop/web"], "vip 10.1.0.8");
  hub.down = false;
  await world.pass(60_000);
  assert.equal(world.cluster("c2").imported()["shop/web"], "vip 10.1.0.8");
  const written = new Set(c1.writesAfter(length).map(({ kind, key }) => `${kind} ${key}`));
  assert.equal(written.size, 1, [...written].join());
});

test("a replica that takes over while the hub is down rewrites nothing, and follows own endpoints", async () => {
  const { world, hub, c1 } = await onHub();
  hub.fail();
  await c1.restart();
  await world.pass(15_000);
  c1.start();
  await world.pass(15_000);
  c1.serve("shop/web", ["10.1.0.8", "10.1.0.9"], ["10.1.0.9"]);
  await world.pass(5000);
  const before = c1.imported();
  assert.deepEqual(before, { "shop/web": "vip 10.1.0.8 10.1.0.9(dead)" });
  const { length } = c1.server.writes;
  c1.kill();
  await world.pass(30_000);
  assert.equal(c1.controller?.permission.isGranted, true);
  assert.deepEqual(c1.writesAfter(length), []);
  c1.serve("shop/web", ["10.1.0.10"]);
  await soon(world);
  assert.deepEqual(c1.imported(), { "shop/web": "vip 10.1.0.10" });
});

test("a new export of a controller that cannot list its registry is imported, and pending", async () => {
  const { world, hub, c1 } = await onHub();
  hub.fail();
  await c1.stop();
  c1.offer("shop/api", ["10.1.0.9"]);
  c1.start();
  await world.pass(30_000);
  assert.equal(c1.imported()["shop/api"], "vip 10.1.0.9");
  assert.match(c1.ready("shop/api", "serviceexports"), /^False Pending /);
  assert.match(c1.ready("shop/web", "serviceexports"), /^True Exported /);
});

test("exports that are not listed after a start without the hub stay imported until a second list lacks them", async () => {
  const { world, hub, c1 } = await onHub();
  const names = ["shop/a", "shop/b", "shop/web"];
  for (const key of names) c1.offer(key, ["10.1.0.7"]);
  await world.pass(5000);
  hub.fail();
  await c1.stop();
  for (const key of names) c1.delete("ServiceExport", key);
  c1.start();
  await world.pass(18_000);
  assert.equal(c1.controller?.permission.isGranted, true);
  assert.deepEqual(Object.keys(c1.imported()).sort(), names);
  await world.pass(30_000);
  assert.deepEqual(c1.imported(), {});
});

test("while the hub hangs, many exports do not hold up the import of one", async () => {
  const { world, hub, c1 } = await onHub();
  hub.weather = { delay: 1e12, lost: 0 };
  for (let n = 0; n < 40; n++) c1.offer(`shop/n${n}`, ["10.1.0.9"]);
  await world.pass(1000);
  c1.serve("shop/web", ["10.1.0.8"]);
  await soon(world);
  assert.equal(c1.imported()["shop/web"], "vip 10.1.0.8");
});

test("endpoints that are held back after an outage are held back in the own import, too, with and without the hub", async () => {
  for (const isHubDown of [false, true]) {
    const { world, hub, c1 } = await onHub();
    c1.offer("shop/api", ["10.1.0.9"]);
    await world.pass(60_000);
    hub.down = isHubDown;
    if (isHubDown) hub.cut();
    await c1.stop();
    c1.serve("shop/web", ["10.1.0.7"], ["10.1.0.7"]);
    c1.serve("shop/api", ["10.1.0.9"], ["10.1.0.9"]);
    const states = new Set<string | undefined>();
    c1.server.objects.listen(() => states.add(c1.imported()["shop/web"]));
    c1.start();
    await world.pass(30_000);
    assert.equal(c1.imported()["shop/web"], "vip 10.1.0.7(serving)", `hub down: ${isHubDown}`);
    assert.equal(states.has("vip 10.1.0.7(dead)"), false, `hub down: ${isHubDown}`);
    await world.pass(30_000);
    assert.equal(c1.imported()["shop/web"], "vip 10.1.0.7(dead)");
  }
});

test("after any history of a hub and of own endpoints, the own import has just these", async () => {
  const step = fc.oneof(
    fc.record({ serve: fc.subarray([1, 2, 3, 4]), dead: fc.subarray([1, 2, 3, 4]) }),
    fc.record({ down: fc.boolean() }),
    fc.record({ denied: fc.boolean() }),
    fc.record({ pass: fc.constantFrom(1, 200, 15_000, 40_000) }),
    fc.constant({ restart: true } as const),
  );
  await forMany(RUNS, [fc.array(step, { minLength: 3, maxLength: 15 })], async (steps) => {
    const { world, hub, c1 } = await onHub();
    let [all, dead]: number[][] = [[7], []];
    for (const one of steps) {
      if ("serve" in one) {
        [all, dead] = [one.serve, one.dead];
        c1.serve("shop/web", all.map(address), dead.map(address));
      } else if ("down" in one) {
        hub.down = one.down;
        if (one.down) hub.cut();
      } else if ("denied" in one) {
        if (one.denied) hub.denied.set(`${REGISTRY}/web.shop.v4-0`, "exceeded quota");
        else hub.denied.clear();
      } else if ("pass" in one) await world.pass(one.pass);
      else await c1.restart();
    }
    await world.pass(75_000);
    const expected = all?.map((n) => `${address(n)}${dead?.includes(n) ? "(dead)" : ""}`) ?? [];
    assert.deepEqual(c1.imported(), { "shop/web": ["vip", ...expected.sort()].join(" ") });
  });
});

function address(n: number): string {
  return `10.1.0.${n}`;
}
