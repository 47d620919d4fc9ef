import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sweep } from "./sweep.ts";

const keys = (count: number): string[] => Array.from({ length: count }, (_, i) => `shop/${i}`);

test("a few of many are gone at the first look", () => {
  assert.deepEqual(sweep(keys(3), 5, undefined, false), { remove: keys(3), doubted: undefined });
  assert.deepEqual(sweep(keys(11), 22, undefined, false), { remove: keys(11), doubted: undefined });
});

test("everything, or most of many, is gone at the second look that misses it, too", () => {
  for (const [missing, known] of [
    [1, 1],
    [5, 5],
    [11, 21],
    [900, 1000],
  ] as const) {
    const first = sweep(keys(missing), known, undefined, false);
    assert.deepEqual(first, { remove: [], doubted: new Set(keys(missing)) });
    const second = sweep(keys(missing), known, first.doubted, false);
    assert.deepEqual(second, { remove: keys(missing), doubted: undefined });
  }
});

test("what the second look misses and the first did not is doubted in its turn", () => {
  const first = sweep(keys(60), 100, undefined, false);
  const second = sweep(keys(100), 100, first.doubted, false);
  assert.deepEqual(second, { remove: keys(60), doubted: new Set(keys(100).slice(60)) });
});

test("of a server that has gone back in time nothing at all is believed at once", () => {
  assert.deepEqual(sweep(keys(1), 50, undefined, true).remove, []);
  assert.deepEqual(sweep([], 50, undefined, true), { remove: [], doubted: undefined });
});

test("at any look, what is removed was missed, and what was missed is removed or doubted", () => {
  const looks = fc.array(fc.uniqueArray(fc.nat(30)));
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(30)), looks, fc.boolean(), (all, seen, rewound) => {
      let known = new Set(all.map(String));
      let doubted: ReadonlySet<string> | undefined;
      for (const look of seen) {
        const missing = [...known].filter((key) => !look.map(String).includes(key));
        const before = doubted;
        const { remove, doubted: after } = sweep(missing, known.size, before, rewound);
        assert.deepEqual([...remove, ...(after ?? [])].sort(), [...missing].sort());
        if (remove.length === known.size) assert.ok(remove.every((key) => before?.has(key)));
        known = new Set([...known].filter((key) => !remove.includes(key)));
        doubted = after;
      }
    }),
  );
});
