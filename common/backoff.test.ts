import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../test/generators/for-all.ts";
import { backoff } from "./backoff.ts";

const bounds = { min: 100, max: 30_000 };

test("waits double from the minimum to the maximum", () => {
  const waits = [1, 2, 3, 8, 9, 50].map((failures) => backoff(failures, bounds, 0));
  assert.deepEqual(waits, [100, 200, 400, 12_800, 15_000, 15_000]);
});

test("the upper half of a wait is random", () => {
  assert.equal(backoff(1, bounds, 0.5), 150);
  assert.equal(backoff(50, bounds, 0.999_999) > 29_999, true);
});

test("no wait is ever outside its bounds, however many failures", async () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  await forAll([fc.integer({ min: 1, max: 5000 }), random], (failures, chance) => {
    const wait = backoff(failures, bounds, chance);
    assert.ok(wait >= bounds.min && wait <= bounds.max);
  });
});
