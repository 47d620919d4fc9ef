import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { Quota } from "./quota.ts";

/** At most `most` texts, with at most `characters` characters in total. */
function texts(most: number, characters = 1000): Quota<string> {
  return new Quota<string>([
    { reason: "too-many-records", most, weigh: () => 1 },
    { reason: "too-many-keys", most: characters, weigh: (text) => text.length },
  ]);
}

test("admitted objects stay, later ones wait for room", () => {
  const quota = texts(2);
  assert.ok(quota.take("a", "x", undefined));
  assert.ok(quota.take("b", "x", undefined));
  assert.equal(quota.reason, undefined);
  assert.equal(quota.take("c", "x", undefined), false);
  assert.equal(quota.reason, "too-many-records");
  assert.ok(quota.take("a", "y", "x"), "an admitted object may change");
  quota.take("b", undefined, "x");
  assert.equal(quota.reason, "too-many-records", "c is still rejected");
  assert.ok(quota.take("c", "x", undefined));
  assert.equal(quota.reason, undefined);
});

test("an object that grows over the limit is rejected; one that shrinks stays", () => {
  const quota = texts(9, 10);
  assert.ok(quota.take("a", "12345", undefined));
  assert.ok(quota.take("b", "1234", undefined));
  assert.equal(quota.take("a", "1234567", "12345"), false);
  assert.equal(quota.reason, "too-many-keys");
  assert.ok(quota.take("c", "123456", undefined), "the place of a is free");
  assert.ok(quota.take("c", "12345", "123456"));
});

test("places of earlier objects are reserved during a list", () => {
  const quota = texts(3);
  quota.expect(["x", "y"]);
  assert.ok(quota.take("a", "1", undefined));
  assert.equal(quota.take("b", "1", undefined), false);
  assert.ok(quota.take("y", "1", undefined));
  assert.equal(quota.take("c", "1", undefined), false);
  quota.listed();
  assert.ok(quota.take("b", "1", undefined), "x was not listed");
  assert.equal(quota.take("x", "1", undefined), false);
});

test("no history exceeds the limit or leaks weight", async () => {
  const change = fc.tuple(
    fc.constantFrom("a", "b", "c", "d", "e"),
    fc.option(fc.string({ maxLength: 6 }), { nil: undefined }),
  );
  await forAll([fc.array(change, { maxLength: 60 })], (changes) => {
    const quota = texts(3, 8);
    const taken = new Map<string, string>();
    const rejected = new Set<string>();
    for (const [key, next] of changes) {
      const isTaken = quota.take(key, next, taken.get(key));
      taken.delete(key);
      rejected.delete(key);
      if (!isTaken) rejected.add(key);
      else if (next !== undefined) taken.set(key, next);
      assert.ok(taken.size <= 3);
      assert.ok([...taken.values()].join("").length <= 8);
      assert.equal(quota.reason !== undefined, rejected.size > 0);
    }
    for (const [key, text] of taken) quota.take(key, undefined, text);
    for (const key of ["a", "b", "c"]) assert.ok(quota.take(key, "12", undefined));
  });
});
