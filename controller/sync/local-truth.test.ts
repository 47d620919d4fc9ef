import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { objectKey } from "../../api/names.ts";
import { IDLE } from "../../test/doubles/idle-reflector.ts";
import { anyChance } from "../../test/generators/chance.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { ControllerWorld } from "../../test/stages/controller-world.ts";
import { parseExport } from "../model/parse-export.ts";
import { FactStore } from "../stores/fact-store.ts";
import { UnconfirmedExports } from "./unconfirmed-exports.ts";

// A cluster's own endpoints reach its own imports whatever happens to its registry.

/** `RUNS=1000` searches for rare failures. */
const RUNS = Number(process.env.RUNS ?? 6);
const REGISTRY = "clusterset-registry-c1";

/** Two clusters and a hub; c1 exports shop/web with the endpoint 10.1.0.7. */
async function onHub() {
  const opened = ControllerWorld.withHub(["c1", "c2"]);
  const { world, c1 } = opened;
  c1.offer("shop/web", ["10.1.0.7"]);
  await world.run(60_000);
  assert.deepEqual(c1.imported(), { "shop/web": "vip 10.1.0.7" });
  return opened;
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
  await c2.importAfter(60_000, "shop/web", /^vip 10.1.0.7\(serving\)$/);
  c1.delete("ServiceExport", "shop/api");
  await soon(world);
  assert.deepEqual(Object.keys(c1.imported()), ["shop/web"]);
  hub.down = false;
  await c2.importsAfter(60_000, { "shop/web": now["shop/web"] });
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
  await c1.importAfter(5000, "shop/api", "vip 10.2.0.9");
  assert.match(c1.ready("shop/api", "serviceexports"), /^False Failed /);
  for (const cluster of [c1, c2]) {
    const { reason } = cluster.condition("serviceexports", "shop/api", "Conflict");
    assert.equal(reason, "NoConflicts");
  }
});

test("a controller that starts while the hub is down follows own endpoints after ten seconds, and rewrites nothing", async () => {
  const { world, hub, c1, c2 } = await onHub();
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
  await c2.importAfter(60_000, "shop/web", "vip 10.1.0.8");
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
  assert.deepEqual(await c1.writesIn(30_000, undefined, () => c1.kill()), []);
  assert.equal(c1.controller?.permission.isGranted, true);
  c1.serve("shop/web", ["10.1.0.10"]);
  await soon(world);
  assert.deepEqual(c1.imported(), { "shop/web": "vip 10.1.0.10" });
});

test("a new export of a controller that cannot list its registry is imported, and pending", async () => {
  const { hub, c1 } = await onHub();
  hub.fail();
  await c1.stop();
  c1.offer("shop/api", ["10.1.0.9"]);
  c1.start();
  await c1.importAfter(30_000, "shop/api", "vip 10.1.0.9");
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
  await c1.importsAfter(30_000, {});
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
    await c1.importAfter(30_000, "shop/web", "vip 10.1.0.7(serving)", `hub down: ${isHubDown}`);
    assert.equal(states.has("vip 10.1.0.7(dead)"), false, `hub down: ${isHubDown}`);
    await c1.importAfter(30_000, "shop/web", "vip 10.1.0.7(dead)");
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

const NAMES = ["shop/api", "shop/cart", "shop/web"];
const ALL = Object.fromEntries(NAMES.map((key) => [key, "vip 10.1.0.7"]));

/** Two clusters and a hub; c1 exports three Services, and restarts without these ServiceExports. */
async function restartedWithout(keys: readonly string[]) {
  const opened = ControllerWorld.withHub(["c1", "c2"]);
  const { world, hub, c1, c2 } = opened;
  world.start();
  for (const key of NAMES) c1.offer(key, ["10.1.0.7"]);
  await c2.importsAfter(5000, ALL);
  await c1.stop();
  for (const key of keys) c1.delete("ServiceExport", key);
  const { length } = hub.writes;
  c1.start();
  await world.pass(5000);
  assert.equal(c1.controller?.permission.isGranted, true);
  return { ...opened, since: length };
}

test("exports that a cluster does not list after a restart stay in its registry if they are there ten seconds later", async () => {
  const { hub, c1, c2, since } = await restartedWithout(NAMES);
  for (const key of NAMES) c1.export(key);
  await c2.importsAfter(60_000, ALL);
  const deletions = hub.writes.slice(since).filter(({ method }) => method === "DELETE");
  assert.deepEqual(deletions, []);
});

test("exports that a cluster does not list after a restart are withdrawn if they are not there ten seconds later", async () => {
  const { world, c2 } = await restartedWithout(NAMES);
  await world.pass(4000);
  assert.deepEqual(Object.keys(c2.imported()).sort(), NAMES);
  await c2.importsAfter(15_000, {});
});

test("a second list adds only missing exports to the informer", () => {
  const creationTimestamp = "2026-06-01T00:00:00Z";
  const exportAt = (resourceVersion: string, name = "web") => ({
    metadata: { namespace: "shop", name, uid: `u-${name}`, resourceVersion, creationTimestamp },
  });
  const quiet = () => undefined;
  const exports = new FactStore({
    parse: parseExport,
    written: true,
    changed: quiet,
    problems: quiet,
  });
  exports.changed("shop/web", exportAt("9"));
  const told: unknown[] = [];
  const lost = new UnconfirmedExports({
    own: { exports },
    member: { services: () => new Set([objectKey("shop", "gone")]) },
    reflector: { found: (object) => told.push(object) },
    follow: (_query, events) => ({
      ...IDLE,
      start: () => {
        events.changed("shop/web", exportAt("7"), 0);
        events.changed("shop/gone", exportAt("5", "gone"), 0);
      },
    }),
    importedFrom: () => [],
    confirmed: quiet,
  });
  lost.begin();
  assert.equal(lost.isUnconfirmed(objectKey("shop", "gone")), true);
  assert.equal(exports.seen("shop/web")?.resourceVersion, "9");
  assert.deepEqual(told, [exportAt("5", "gone")]);
});

test("one of three exports that was deleted while the controller was away is withdrawn at once", async () => {
  const { c2 } = await restartedWithout(["shop/web"]);
  assert.deepEqual(Object.keys(c2.imported()).sort(), ["shop/api", "shop/cart"]);
});

test("missing Secrets of all peers after a restart remove nothing for ten seconds", async () => {
  const { world, c2 } = await ControllerWorld.withExport(["c1", "c2"]);
  await c2.stop();
  c2.delete("Secret", "clusterset-proxy/peer-c1");
  c2.start();
  await world.pass(8000);
  assert.deepEqual(Object.keys(c2.imported()), ["shop/web"]);
  c2.introduce("c1");
  await c2.importsAfter(60_000, { "shop/web": "vip 10.1.0.7" });
});

// A list that lacks most objects is confirmed ten seconds later. Scaling to zero does not remove slices, so it
// applies at once, even during a relist.

/** Milliseconds; less than the time to a second list. */
const AT_ONCE = 8000;

const SCALED = ["shop/web", "shop/api"] as const;

/** Numbers of endpoints per Service: none, one, and more than a slice holds. */
const scale = fc
  .tuple(fc.constantFrom(...SCALED), fc.constantFrom(0, 0, 1, 130))
  .map(([name, count]) => ({ what: "scale", name, count }) as const);
/** Breaks all connections to the API server of a cluster. */
const relist = fc.constantFrom("c1", "c2").map((cluster) => ({ what: "relist", cluster }) as const);
const pass = fc.constantFrom(0, 5, 100, 700).map((ms) => ({ what: "pass", ms }) as const);

function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `10.1.${i >> 7}.${i & 127}`);
}

test("scaling to zero and back is never handled as a mass loss, in any order with relists", async () => {
  const steps = fc.array(fc.oneof({ weight: 2, arbitrary: scale }, pass), { maxLength: 8 });
  const ends = fc.tuple(steps, relist, steps, relist, steps);

  await forMany(RUNS, [ends, anyChance], async (parts, chance) => {
    const { world, c1, c2 } = ControllerWorld.of(["c1", "c2"], chance);
    const counts = new Map<string, number>(SCALED.map((name) => [name, 130]));
    for (const name of SCALED) c1.offer(name, addresses(130));
    await world.run(15_000);
    const wanted = () =>
      Object.fromEntries(
        SCALED.toSorted().map((name) => {
          const all = addresses(counts.get(name) ?? 0);
          return [name, ["vip", ...all.sort()].join(" ")];
        }),
      );
    assert.deepEqual(c2.imported(), wanted());
    for (const step of parts.flat()) {
      if (step.what === "pass") await world.pass(step.ms);
      else if (step.what === "relist") {
        const { server } = world.cluster(step.cluster);
        server.objects.compact();
        server.cut();
      } else {
        counts.set(step.name, step.count);
        c1.serve(step.name, addresses(step.count));
      }
    }
    await world.pass(AT_ONCE);
    for (const cluster of world.clusters) {
      assert.deepEqual(cluster.imported(), wanted(), cluster.log.slice(-20).join("\n"));
      assert.doesNotMatch(await cluster.metrics.text(), /reason="doubtful"} [1-9]/);
    }
  });
});
