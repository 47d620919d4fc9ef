import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { parseJson } from "./json.ts";

function parsed(text: string): unknown {
  return parseJson(Buffer.from(text));
}

test("a document of a hundred levels is parsed, and one of more is garbage", () => {
  const arrays = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  for (const nested of [arrays, objects]) {
    assert.deepEqual(parsed(nested(100)), JSON.parse(nested(100)));
    for (const levels of [101, 20_000]) {
      assert.throws(() => parsed(nested(levels)), { reason: "garbage", message: /100 levels/ });
    }
  }
  assert.throws(() => parsed(`{"metadata":{},"spec":${arrays(20_000)}}`), { reason: "garbage" });
});

test("brackets in strings are no levels, whatever is escaped", () => {
  const text = JSON.stringify({ a: "[".repeat(200), b: `"\\${"{".repeat(200)}`, c: "\\" });
  assert.deepEqual(parsed(text), JSON.parse(text));
  assert.deepEqual(parsed(`"\\\\\\"${"[".repeat(200)}"`), `\\"${"[".repeat(200)}`);
});

test("any other value equals that of a JSON parser", () =>
  forAll([fc.json({ maxDepth: 20 })], (text) => {
    assert.deepEqual(parsed(text), JSON.parse(text));
  }));
