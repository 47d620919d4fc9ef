import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Search } from "./search.ts";

/** Searches to the end; gives who was called guilty, and how many trials it took. */
function searched(groups: readonly (readonly number[])[], guilty: ReadonlySet<number>) {
  let search = Search.over(...groups);
  const live = new Set<number>();
  const found: number[] = [];
  let trials = 0;
  for (let next = search.next; next !== undefined; next = search.next) {
    trials++;
    if (next.some((unit) => guilty.has(unit))) {
      if (next.length === 1) found.push(...next);
      search = search.refused();
    } else {
      for (const unit of next) live.add(unit);
      search = search.accepted();
    }
  }
  return { found, live, trials };
}

test("finds exactly the guilty, in a number of trials that grows with them and hardly with the innocent", () => {
  const property = fc.property(
    fc.integer({ min: 1, max: 300 }),
    fc.uniqueArray(fc.integer({ min: 0, max: 299 }), { maxLength: 12 }),
    fc.integer({ min: 0, max: 300 }),
    (size, picked, cut) => {
      const units = [...Array(size).keys()];
      const guilty = new Set(picked.filter((unit) => unit < size));
      const { found, live, trials } = searched([units.slice(0, cut), units.slice(cut)], guilty);
      assert.deepEqual(new Set(found), guilty);
      assert.equal(found.length, guilty.size);
      assert.equal(live.size, size - guilty.size);
      const bound = 2 + 2 * guilty.size * (Math.ceil(Math.log2(size)) + 1);
      assert.ok(trials <= bound, `${trials} trials, more than ${bound}`);
    },
  );
  fc.assert(property);
});

test("two guilty among a thousand take fewer than forty trials", () => {
  const units = [...Array(1000).keys()];
  const { trials } = searched([units], new Set([137, 861]));
  assert.ok(trials < 40, `${trials}`);
});

test("whoever is suspected most is tried last, when all others are live", () => {
  const search = Search.over([1, 2, 3], [4]);
  assert.deepEqual(search.next, [1, 2, 3]);
  assert.deepEqual(search.accepted().next, [4]);
  assert.equal(search.accepted().refused().next, undefined);
});

test("when the first half is innocent the other is halved at once, but one alone is tried before it is guilty", () => {
  const refused = Search.over([1, 2, 3, 4]).refused();
  assert.deepEqual(refused.next, [1, 2]);
  assert.deepEqual(refused.accepted().next, [3]);
  assert.deepEqual(refused.accepted().accepted().next, [4]);
});
