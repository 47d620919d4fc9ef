import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeShare } from "./node-share.ts";

test("the shares of a hundred nodes are spread evenly over the window, whatever their names differ in", () => {
  for (const name of [
    (i: number) => `node-${i}`,
    (i: number) => `ip-10-0-${i >> 4}-${i & 15}.eu-west-1.compute.internal`,
    (i: number) => `pool-a-7f9c-${String(i).padStart(4, "0")}`,
    (i: number) => `${i}.nodes.example.com`,
  ]) {
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let i = 0; i < 100; i++) {
      const share = nodeShare(name(i));
      assert.ok(share >= 0 && share < 1);
      const tenth = Math.floor(share * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    // Ten each on average; by chance, a tenth has more than 20 or fewer than 2 nodes less than once in 100 such tables.
    assert.ok(
      Math.max(...tenths) <= 20 && Math.min(...tenths) >= 2,
      `${name(7)}: ${tenths.join()}`,
    );
  }
});

test("the share of a node depends on its name alone", () => {
  assert.equal(nodeShare("n1"), nodeShare("n1"));
  assert.notEqual(nodeShare("n1"), nodeShare("n2"));
});
