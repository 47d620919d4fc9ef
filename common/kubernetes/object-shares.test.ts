import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { levelOf } from "../../api/fair-budget.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { KnownObjects } from "./known-objects.ts";

const MOST = 12;

/** Numbers of objects by owner that are known after these keys were listed, in this order. */
function listed(keys: readonly string[], before: readonly string[] = []): Map<string, number> {
  const known = new Set<string>();
  const objects = new KnownObjects({
    most: MOST,
    evicted: (key) => assert.ok(known.delete(key), key),
    leavesOut: () => undefined,
  });
  objects.beginList();
  for (const key of before)
    if (objects.changed({ key, uid: key, resourceVersion: "1" })) known.add(key);
  objects.beginList();
  for (const key of keys) {
    if (objects.listed({ key, uid: key, resourceVersion: "1" })) known.add(key);
    assert.ok(known.size <= 2 * MOST);
  }
  for (const key of objects.missing("1")) {
    objects.forget(key);
    known.delete(key);
  }
  assert.equal(objects.size, known.size);
  return new Map(
    [...new Set(keys.map((key) => key.charAt(0)))].map((owner) => [
      owner,
      [...known].filter((key) => key.startsWith(owner)).length,
    ]),
  );
}

test("owners share the places, max-min fair, in any order of arrival and after any earlier list", () => {
  const numbers = fc.record({ a: fc.nat(20), b: fc.nat(20), c: fc.nat(8), d: fc.nat(3) });
  const all = numbers.chain((counts) => {
    const keys = Object.entries(counts).flatMap(([owner, count]) =>
      Array.from({ length: count }, (_, i) => `${owner}/${i}`),
    );
    const order = fc.shuffledSubarray(keys, { minLength: keys.length });
    return fc.tuple(fc.constant(counts), order, fc.subarray(keys));
  });
  return forAll([all], ([counts, order, before]) => {
    const asked = Object.values(counts).map((count) => Math.min(count, MOST / 2));
    const level = levelOf(asked, MOST);
    const known = listed(order, before);
    for (const [owner, count] of Object.entries(counts)) {
      const share = Math.min(count, MOST / 2, level);
      const { [owner]: has = 0 } = Object.fromEntries(known);
      // What an equal division leaves goes to some of the largest.
      assert.ok(
        has === share || (has === share + 1 && count > share),
        `${owner}: ${has} of ${count}`,
      );
    }
  });
});

test("a hundred thousand objects of two owners give way to those of a third in a moment", () => {
  let evicted = 0;
  const objects = new KnownObjects({
    most: 100_000,
    evicted: () => void evicted++,
    leavesOut: () => undefined,
  });
  for (const owner of ["a", "b", "c"])
    for (let i = 0; i < 50_000; i++)
      objects.changed({ key: `${owner}/${i}`, uid: "u", resourceVersion: "1" });
  assert.equal(objects.size, 100_000);
  assert.ok(Math.abs(evicted - 33_333) < 200, `${evicted}`);
});

test("of many owners with few objects each, all keep an equal share, and names without end take no memory", () => {
  const known = new Map<string, number>();
  const count = (key: string, step: number) => {
    const owner = key.slice(0, key.indexOf("/"));
    known.set(owner, (known.get(owner) ?? 0) + step);
    return true;
  };
  const reported = new Set<string>();
  const objects = new KnownObjects({
    most: 20_000,
    evicted: (key) => count(key, -1),
    leavesOut: (owner) => reported.add(owner),
  });
  objects.beginList();
  for (let i = 0; i < 2_500; i++) {
    for (let n = 0; n < 10; n++) {
      const key = `ns${i}/${n}`;
      if (objects.listed({ key, uid: key, resourceVersion: "1" })) count(key, 1);
    }
  }
  assert.deepEqual(new Set(known.values()), new Set([8]));
  for (let i = 0; i < 30_000; i++)
    objects.listed({ key: `more${i}/a`, uid: "u", resourceVersion: "1" });
  assert.equal(reported.size, 1_000);
});
