import assert from "node:assert/strict";
import { test } from "node:test";
import { elementLines } from "./elements.ts";

test("a line has at most 500 elements", () => {
  const many = new Set(Array.from({ length: 1001 }, (_, i) => `${i}`));
  const lines = elementLines("ip t", "s", new Set(), many, (key) => key);
  assert.deepEqual(
    lines.map((line) => line.split(",").length),
    [500, 500, 1],
  );
});
