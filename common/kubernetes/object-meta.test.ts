import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { isOlder, metaOf } from "./object-meta.ts";

test("versions compare as the numbers that they are, however large", async () => {
  const version = fc.bigInt({ min: 1n, max: 2n ** 70n });
  await forAll([version, version], (a, b) => {
    assert.equal(isOlder(String(a), String(b)), a < b);
  });
});

test("versions that are not numbers are never older", () => {
  for (const [a, b] of [
    ["", "5"],
    ["5", ""],
    ["abc", "abd"],
    ["05", "6"],
    ["-1", "6"],
  ] as const) {
    assert.equal(isOlder(a, b), false);
  }
});

test("whatever the value, it has an identity or none", () =>
  forAll([fc.anything()], (value) => {
    assert.equal(metaOf(value), undefined);
  }));

test("a value that is longer than Kubernetes allows makes the metadata invalid", () => {
  const metadata = {
    name: "n".repeat(253),
    namespace: "s".repeat(63),
    uid: "u".repeat(63),
    resourceVersion: "1".repeat(64),
  };
  assert.equal(metaOf({ metadata })?.key, `${metadata.namespace}/${metadata.name}`);
  for (const [field, longest] of Object.entries(metadata)) {
    assert.equal(metaOf({ metadata: { ...metadata, [field]: `${longest}x` } }), undefined, field);
  }
});
