import assert from "node:assert/strict";
import { test } from "node:test";
import { worldWith } from "../../test/stages/controller-world.ts";

const REFUSED = 'refused_parts{from="member",reason="too-many-rules"}';

function addresses(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}.${i + 1}`);
}

test("a cluster over its share of an import is cut, and takes nothing from the others", async () => {
  const { world, c1, c2 } = worldWith("--max-rules-per-import", "5");
  c1.serve("shop/web", addresses("10.1.0", 9));
  c2.serve("shop/web", addresses("10.2.0", 2));
  for (const cluster of world.clusters) cluster.export("shop/web");
  await world.run(20_000);
  assert.deepEqual(c2.imported(), {
    "shop/web": "vip 10.1.0.1 10.1.0.2 10.1.0.3 10.2.0.1 10.2.0.2",
  });
  assert.match(await c2.metrics.text(), new RegExp(`${REFUSED} 1\n`));
  c1.serve("shop/web", addresses("10.1.0", 3));
  await world.pass(20_000);
  assert.match(await c2.metrics.text(), new RegExp(`${REFUSED} 0\n`));
});

test("a cluster over its limit keeps what was admitted, and the rest comes when there is room", async () => {
  const { world, c1, c2 } = worldWith("--max-rules-per-cluster", "5");
  c1.offer("shop/api", addresses("10.1.0", 4));
  await world.run(20_000);
  c1.offer("shop/web", addresses("10.1.1", 3));
  await world.pass(20_000);
  const api = "vip 10.1.0.1 10.1.0.2 10.1.0.3 10.1.0.4";
  assert.deepEqual(c2.imported(), { "shop/api": api, "shop/web": "vip" });
  assert.match(await c2.metrics.text(), new RegExp(`${REFUSED} 1\n`));
  c1.serve("shop/api", addresses("10.1.0", 1));
  await world.pass(30_000);
  assert.deepEqual(c2.imported(), {
    "shop/api": "vip 10.1.0.1",
    "shop/web": "vip 10.1.1.1 10.1.1.2 10.1.1.3",
  });
});
