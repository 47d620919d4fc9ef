import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { confirmRemovals } from "./confirm-removals.ts";

const keys = (count: number): string[] => Array.from({ length: count }, (_, i) => `shop/${i}`);

test("a few of many objects are removed by the first list", () => {
  assert.deepEqual(confirmRemovals(keys(3), 5, undefined, false), {
    remove: keys(3),
    unconfirmed: undefined,
  });
  assert.deepEqual(confirmRemovals(keys(11), 22, undefined, false), {
    remove: keys(11),
    unconfirmed: undefined,
  });
});

test("all objects, or most of many, are removed only by a second list that misses them", () => {
  for (const [missing, known] of [
    [1, 1],
    [5, 5],
    [11, 21],
    [900, 1000],
  ] as const) {
    const first = confirmRemovals(keys(missing), known, undefined, false);
    assert.deepEqual(first, { remove: [], unconfirmed: new Set(keys(missing)) });
    const second = confirmRemovals(keys(missing), known, first.unconfirmed, false);
    assert.deepEqual(second, { remove: keys(missing), unconfirmed: undefined });
  }
});

test("objects that only the second list misses are unconfirmed", () => {
  const first = confirmRemovals(keys(60), 100, undefined, false);
  const second = confirmRemovals(keys(100), 100, first.unconfirmed, false);
  assert.deepEqual(second, { remove: keys(60), unconfirmed: new Set(keys(100).slice(60)) });
});

test("after a lower resourceVersion, no object is removed by the first list", () => {
  assert.deepEqual(confirmRemovals(keys(1), 50, undefined, true).remove, []);
  assert.deepEqual(confirmRemovals([], 50, undefined, true), {
    remove: [],
    unconfirmed: undefined,
  });
});

test("every missing object is either removed or unconfirmed, and no other object is", async () => {
  const lists = fc.array(fc.uniqueArray(fc.nat(30)));
  await forAll([fc.uniqueArray(fc.nat(30)), lists, fc.boolean()], (all, seen, rewound) => {
    let known = new Set(all.map(String));
    let unconfirmed: ReadonlySet<string> | undefined;
    for (const list of seen) {
      const missing = [...known].filter((key) => !list.map(String).includes(key));
      const before = unconfirmed;
      const { remove, unconfirmed: after } = confirmRemovals(missing, known.size, before, rewound);
      assert.deepEqual([...remove, ...(after ?? [])].sort(), [...missing].sort());
      if (remove.length === known.size) assert.ok(remove.every((key) => before?.has(key)));
      known = new Set([...known].filter((key) => !remove.includes(key)));
      unconfirmed = after;
    }
  });
});
