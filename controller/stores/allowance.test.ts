import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Allowance } from "./allowance.ts";

/** Texts: at most `most` of them, and so many characters in all. */
function texts(most: number, characters = 1000): Allowance<string> {
  return new Allowance<string>([
    { reason: "too-many-records", most, weigh: () => 1 },
    { reason: "too-many-keys", most: characters, weigh: (text) => text.length },
  ]);
}

test("who came first stays, and who came too late waits until there is room", () => {
  const allowance = texts(2);
  assert.ok(allowance.take("a", "x", undefined));
  assert.ok(allowance.take("b", "x", undefined));
  assert.equal(allowance.reason, undefined);
  assert.equal(allowance.take("c", "x", undefined), false);
  assert.equal(allowance.reason, "too-many-records");
  assert.ok(allowance.take("a", "y", "x"), "a change of who is in");
  allowance.drop("b", "x");
  assert.equal(allowance.reason, "too-many-records", "c is still waiting");
  assert.ok(allowance.take("c", "x", undefined));
  assert.equal(allowance.reason, undefined);
});

test("who grows beyond what there is room for loses his place; who shrinks keeps it", () => {
  const allowance = texts(9, 10);
  assert.ok(allowance.take("a", "12345", undefined));
  assert.ok(allowance.take("b", "1234", undefined));
  assert.equal(allowance.take("a", "1234567", "12345"), false);
  assert.equal(allowance.reason, "too-many-keys");
  assert.ok(allowance.take("c", "123456", undefined), "the place of a is free");
  assert.ok(allowance.take("c", "12345", "123456"));
});

test("while a list is coming, nobody takes the places of those who were there before", () => {
  const allowance = texts(3);
  allowance.expect(["x", "y"]);
  assert.ok(allowance.take("a", "1", undefined));
  assert.equal(allowance.take("b", "1", undefined), false);
  assert.ok(allowance.take("y", "1", undefined));
  assert.equal(allowance.take("c", "1", undefined), false);
  allowance.listed();
  assert.ok(allowance.take("b", "1", undefined), "x did not come");
  assert.equal(allowance.take("x", "1", undefined), false);
});

test("no history makes it take too much, or forget what was dropped", () => {
  const change = fc.tuple(
    fc.constantFrom("a", "b", "c", "d", "e"),
    fc.option(fc.string({ maxLength: 6 }), { nil: undefined }),
  );
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const allowance = texts(3, 8);
      const taken = new Map<string, string>();
      const refused = new Set<string>();
      for (const [key, next] of changes) {
        const isIn = allowance.take(key, next, taken.get(key));
        taken.delete(key);
        refused.delete(key);
        if (!isIn) refused.add(key);
        else if (next !== undefined) taken.set(key, next);
        assert.ok(taken.size <= 3);
        assert.ok([...taken.values()].join("").length <= 8);
        assert.equal(allowance.reason !== undefined, refused.size > 0);
      }
      for (const [key, text] of taken) allowance.drop(key, text);
      for (const key of ["a", "b", "c"]) assert.ok(allowance.take(key, "12", undefined));
    }),
  );
});
