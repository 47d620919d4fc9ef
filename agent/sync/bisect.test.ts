import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { bisect } from "./bisect.ts";

/** Bisects numbers below `count`, of which `bad` are rejected. */
async function search(count: number, bad: ReadonlySet<number>, most = 1_000) {
  let rejections = 0;
  let attempts = 0;
  const accepted = new Set<number>();
  const found = await bisect(
    [...Array(count).keys()],
    async (some) => {
      attempts++;
      if (some.some((one) => bad.has(one))) {
        rejections++;
        return false;
      }
      for (const one of some) accepted.add(one);
      return true;
    },
    (rejected) => rejected < most,
  );
  return { ...found, accepted, attempts, rejections };
}

test("finds exactly the offenders, accepts all others, and needs about 2 k log2(n / k) attempts", async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 2, max: 400 }),
    fc.uniqueArray(fc.nat(399), { minLength: 1, maxLength: 8 }),
    async (count, picks) => {
      const bad = new Set(picks.map((pick) => pick % count));
      const { offenders, undecided, accepted, attempts } = await search(count, bad);
      assert.deepEqual(new Set(offenders), bad);
      assert.deepEqual(undecided, []);
      assert.equal(accepted.size, count - bad.size);
      assert.ok(attempts <= 2 * bad.size * (Math.log2(count / bad.size) + 2), `${attempts}`);
    },
  );
  await fc.assert(property);
});

test("stops after the last allowed rejection; services that were not tried alone are undecided, and none is lost", async () => {
  const bad = new Set([...Array(100).keys()].filter((one) => one % 2 === 0));
  const { offenders, undecided, accepted, rejections } = await search(100, bad, 10);
  assert.equal(rejections, 10);
  assert.ok(offenders.every((one) => bad.has(one)));
  assert.equal(new Set([...offenders, ...undecided, ...accepted]).size, 100);
  assert.equal(offenders.length + undecided.length + accepted.size, 100);
});
