import assert from "node:assert/strict";
import { test } from "node:test";
import { objectKey } from "../../api/names.ts";
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
  for (const key of NAMES) {
    c1.offer(key, ["10.1.0.7"]);
  }
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
