import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerWorld } from "../../test/support/controller-world.ts";
import { MOST_RECORDS } from "../model/limits.ts";
import { encodeRecord } from "../registry/encode.ts";
import { registryNamespace } from "../registry/names.ts";

const REFUSED = /refused_parts\{from="member",reason="too-many-records"\} 1\n/;
const BEYOND = 20;

test("a registry that is flooded with records costs a bounded amount, and takes nothing away that was there before", async () => {
  const world = new ControllerWorld(["c1", "c2"]);
  const [c1, c2] = world.clusters;
  assert.ok(c1 && c2);
  for (const cluster of world.clusters) cluster.namespace("shop");
  c1.serve("shop/web", ["10.1.0.7"]);
  c1.export("shop/web");
  world.start();
  await world.pass(15_000);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7" });
  // Its own controller would clear away what nobody exports.
  await c1.stop();
  const namespace = registryNamespace("c1");
  const flood = Array.from({ length: MOST_RECORDS - 1 + BEYOND }, (_, i) =>
    encodeRecord(
      {
        cluster: "c1",
        key: `flood/a${i}`,
        exported: 0,
        metadata: { labels: {}, annotations: {} },
        headless: false,
        ports: [],
        families: ["IPv4"],
        sessionAffinity: "None",
      },
      namespace,
    ),
  );
  for (const { metadata, ...record } of flood) c1.apply({ ...record, metadata: { ...metadata } });
  await world.pass(5000);
  const believed = () => c2.controller?.members.get("c1")?.records.size;
  assert.equal(believed(), MOST_RECORDS);
  assert.match(await c2.metrics.text(), REFUSED);
  assert.equal(c2.log.filter((line) => line === "Refused.").length, 1);

  // Who starts anew lists the flood first, by name.
  await c2.stop();
  c2.start();
  await world.pass(15_000);
  assert.equal(believed(), MOST_RECORDS);
  assert.deepEqual(c2.imported(), { "shop/web": "vip 10.1.0.7(serving)" });
  assert.ok(c2.controller?.members.get("c1")?.record("shop/web"));

  for (const { metadata } of flood.slice(0, BEYOND)) {
    c1.delete("ServiceImport", `${namespace}/${metadata.name}`);
  }
  await world.pass(15_000);
  assert.equal(believed(), MOST_RECORDS, "there was room for the last");
  await world.stop();
});
