import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { expected, value } from "../../test/generators/read-value.ts";
import { clusterRegions } from "./flags.ts";

test("cluster regions are pairs, each cluster once", () => {
  const regions = value(clusterRegions("c1=eu-west, c2.example=us-east"));
  assert.deepEqual(
    [...regions],
    [
      ["c1", "eu-west"],
      ["c2.example", "us-east"],
    ],
  );
  assert.equal(value(clusterRegions("")).size, 0);
  for (const wrong of ["c1", "c1=", "=eu", "c1=eu=west", "C1=eu", "c1=eu,", "c1=a b"]) {
    assert.match(expected(clusterRegions(wrong)), /expected pairs/, wrong);
  }
  assert.match(expected(clusterRegions("c1=eu,c1=us")), /names c1 twice/);
});

test("no text makes the reader throw", async () => {
  const text = fc.string({ unit: fc.constantFrom(..."a1=,. -".split("")) });
  await forAll([text], (given) => {
    const read = clusterRegions(given);
    assert.ok("value" in read || "expected" in read);
  });
});
