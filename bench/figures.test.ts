import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresOf, time } from "./figures.ts";

test("Every figure is a measurement that was made, whatever their order", () => {
  const values = Array.from({ length: 200 }, (_, i) => ((i * 77) % 200) + 1);
  assert.deepEqual(figuresOf(values), { p50: 100, p99: 198, max: 200 });
  assert.deepEqual(figuresOf([7]), { p50: 7, p99: 7, max: 7 });
  assert.throws(() => figuresOf([]), /nothing was measured/);
});

test("Times of one cell share the unit of the largest", () => {
  assert.equal(time(0.4932, 2.51, 31.24), "0.49 / 2.5 / 31.2 ms");
  assert.equal(time(0.0138, 0.512), "14 / 512 us");
  assert.equal(time(583, 1204), "0.58 / 1.20 s");
});
