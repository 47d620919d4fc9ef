import assert from "node:assert/strict";
import { test } from "node:test";
import { withGaps } from "./gaps.ts";
import { SETS } from "./sets.ts";

const RULES = [
  "guard 1 a",
  "pick-1 1 b",
  "pick-2 1 c",
  "pick-2 2 c",
  "hash-3 1 d",
  "sticky-9 1 unused",
];
const SIZES = { picks: 2, hashes: 1, timeouts: 0 };

/** True if the table with these sizes of sets, besides the static ones, is taken for whole. */
function isWhole(sizes: Readonly<Record<string, number | undefined>>): boolean {
  const all = new Map(
    Object.entries({ ...Object.fromEntries(Object.keys(SETS).map((name) => [name, 0])), ...sizes }),
  );
  return withGaps(RULES, (set) => all.get(set)) === RULES;
}

test("a table has one element in a map of verdicts for each chain that it leads to, but for unused ones", () => {
  assert.ok(isWhole(SIZES));
  assert.equal(isWhole({ ...SIZES, picks: 0 }), false, "flushed");
  assert.equal(isWhole({ ...SIZES, picks: 3 }), false, "one more");
  assert.equal(isWhole({ ...SIZES, timeouts: 1 }), false);
});

test("a set that was deleted makes a table incomplete; maps that only some chains need may be missing", () => {
  assert.equal(isWhole({ ...SIZES, choices: undefined }), false);
  assert.equal(isWhole({ ...SIZES, hashes: undefined }), false);
  assert.equal(isWhole({ ...SIZES, groups: 1 }), false);
});

test("without a table nothing is missing", () => {
  assert.deepEqual(
    withGaps([], () => undefined),
    [],
  );
});
