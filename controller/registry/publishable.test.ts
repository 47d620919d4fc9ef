import assert from "node:assert/strict";
import { test } from "node:test";
import { publishable } from "./publishable.ts";

test("valid properties are published in order of their names", () => {
  assert.equal(
    JSON.stringify(publishable({ b: "2", "a.example": "1" })),
    '{"a.example":"1","b":"2"}',
  );
});

test("invalid properties are not published", () => {
  assert.deepEqual(publishable({ A: "1", "a/b": "1", a: "", b: "x".repeat(257), c: "1" }), {
    c: "1",
  });
});

test("at most 64 properties are published, and no more than 16,384 characters", () => {
  const many = (count: number, value: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${100 + i}`, value]));
  assert.deepEqual(publishable(many(65, "v")), many(64, "v"));
  const long = publishable(many(64, '"'.repeat(200)));
  assert.equal(Object.keys(long).length, 39);
  assert.ok(JSON.stringify(long).length <= 16_384);
});
