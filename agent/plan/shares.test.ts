import assert from "node:assert/strict";
import { test } from "node:test";
import { candidate } from "../../test/generators/candidates.ts";
import { sharesOf } from "./shares.ts";

const WEIGHTS = new Map([
  ["c2", 4],
  ["c2b", 6],
  ["c3", 5],
]);

test("shares are of the clusters that have a candidate, without a common divisor", () => {
  const candidates = ["1r", "1rb", "1r"].map(candidate);
  const { chosen, shares } = sharesOf(candidates, WEIGHTS);
  assert.deepEqual(chosen, candidates);
  assert.deepEqual(shares, [
    { cluster: "c2", weight: 2 },
    { cluster: "c2b", weight: 3 },
  ]);
});

test("one cluster alone, clusters without a weight, and no weights at all need no shares", () => {
  const [one, other] = [candidate("1r", 0), candidate("0r", 1)];
  assert.deepEqual(sharesOf([one, other], WEIGHTS), { chosen: [one] });
  assert.deepEqual(sharesOf([other], WEIGHTS), { chosen: [other] });
  assert.deepEqual(sharesOf([one, other], undefined), { chosen: [one, other] });
});
