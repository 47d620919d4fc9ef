import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { objectKey } from "../../api/names.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { ControllerWorld, type MemoryCluster } from "../../test/stages/controller-world.ts";
import { parseExport } from "../model/parse-export.ts";
import { FactStore } from "../stores/fact-store.ts";
import { UnconfirmedExports } from "./unconfirmed-exports.ts";

const NAMES = ["shop/api", "shop/cart", "shop/web"];
const ALL = Object.fromEntries(NAMES.map((key) => [key, "vip 10.1.0.7"]));

/** Two clusters and a hub; c1 exports three Services. */
async function published(): Promise<readonly [ControllerWorld, MemoryCluster, MemoryCluster]> {
  const world = ControllerWorld.withHub(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  for (const cluster of world.clusters) cluster.namespace("shop");
  world.start();
  for (const key of NAMES) c1.offer(key, ["10.1.0.7"]);
  await world.pass(5000);
  assert.deepEqual(c2.imported(), ALL);
  return [world, c1, c2];
}

test("exports that a cluster does not list after a restart stay in its registry if they are there ten seconds later", async () => {
  const [world, c1, c2] = await published();
  await c1.stop();
  for (const key of NAMES) c1.delete("ServiceExport", key);
  const { length } = world.hub?.writes ?? [];
  c1.start();
  await world.pass(5000);
  assert.equal(c1.controller?.permission.isGranted, true);
  for (const key of NAMES) c1.export(key);
  await world.pass(60_000);
  assert.deepEqual(c2.imported(), ALL);
  const writes = world.hub?.writes.slice(length) ?? [];
  assert.deepEqual(
    writes.filter(({ method }) => method === "DELETE"),
    [],
  );
});

test("exports that a cluster does not list after a restart are withdrawn if they are not there ten seconds later", async () => {
  const [world, c1, c2] = await published();
  await c1.stop();
  for (const key of NAMES) c1.delete("ServiceExport", key);
  c1.start();
  await world.pass(9000);
  assert.deepEqual(Object.keys(c2.imported()).sort(), NAMES);
  await world.pass(15_000);
  assert.deepEqual(c2.imported(), {});
});

test("a second list adds only missing exports to the informer", () => {
  const exportAt = (resourceVersion: string, name = "web") => ({
    metadata: {
      namespace: "shop",
      name,
      uid: `u-${name}`,
      resourceVersion,
      creationTimestamp: "2026-06-01T00:00:00Z",
    },
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
      start: () => {
        events.changed("shop/web", exportAt("7"), 0);
        events.changed("shop/gone", exportAt("5", "gone"), 0);
      },
      stop: async () => undefined,
      wrote: quiet,
      found: quiet,
      erased: quiet,
      rewound: quiet,
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
  const [world, c1, c2] = await published();
  await c1.stop();
  c1.delete("ServiceExport", "shop/web");
  c1.start();
  await world.pass(5000);
  assert.deepEqual(Object.keys(c2.imported()).sort(), ["shop/api", "shop/cart"]);
});

test("missing Secrets of all peers after a restart remove nothing for ten seconds", async () => {
  const world = await ControllerWorld.withExport(["c1", "c2"]);
  const [, c2] = world.clusters;
  await c2.stop();
  c2.delete("Secret", "clusterset-proxy/peer-c1");
  c2.start();
  await world.pass(8000);
  assert.deepEqual(Object.keys(c2.imported()), ["shop/web"]);
  c2.introduce("c1");
  await world.pass(60_000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
});

// A list that lacks most objects is confirmed ten seconds later. Scaling to zero does not remove slices, so it
// applies at once, even during a relist.

/** `RUNS=1000` searches for rare failures. */
const RUNS = Number(process.env.RUNS ?? 6);
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
  const random = fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true }));
  await forMany(RUNS, [ends, random], async (parts, stream) => {
    const world = new ControllerWorld(["c1", "c2"], () => stream.next().value ?? 0);
    const [c1, c2] = world.clusters;
    for (const cluster of world.clusters) cluster.namespace("shop");
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
