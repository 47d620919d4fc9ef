import assert from "node:assert/strict";
import { test } from "node:test";
import { KnownObjects } from "./known-objects.ts";

const meta = (resourceVersion: string, uid = "u1", key = "shop/web") => ({
  key,
  uid,
  resourceVersion,
});

test("what has not changed is no news, neither in a list nor by an event", () => {
  const known = new KnownObjects();
  known.beginList();
  assert.equal(known.listed(meta("5")), true);
  assert.equal(known.listed(meta("5")), false);
  assert.equal(known.changed(meta("5")), false);
  assert.equal(known.changed(meta("6")), true);
});

test("an event from before what is known is past", () => {
  const known = new KnownObjects();
  known.changed(meta("100"));
  assert.equal(known.changed(meta("99")), false);
  assert.equal(known.deleted(meta("99")), false);
  assert.equal(known.deleted(meta("101")), true);
  assert.equal(known.deleted(meta("101")), false);
});

test("a list counts even where it is older: the server may have been restored", () => {
  const known = new KnownObjects();
  known.changed(meta("100"));
  known.beginList();
  assert.equal(known.listed(meta("7")), true);
  assert.equal(known.changed(meta("8")), true);
});

test("an object that was deleted and made anew is another, whatever its version", () => {
  const known = new KnownObjects();
  known.changed(meta("5", "u1"));
  assert.equal(known.listed(meta("5", "u2")), true);
});

test("missing is what the last list did not hold; changes since then are not missing", () => {
  const known = new KnownObjects();
  known.beginList();
  for (const name of ["a", "b", "c"]) known.listed(meta("1", "u", name));
  known.beginList();
  known.listed(meta("1", "u", "b"));
  known.changed(meta("9", "u", "d"));
  assert.deepEqual(known.missing("20"), ["a", "c"]);
});

test("what was not taken is news again, and is still there", () => {
  const known = new KnownObjects();
  known.changed(meta("5"));
  known.untold("shop/web");
  assert.equal(known.size, 1);
  assert.equal(known.listed(meta("5")), true);
});

test("what was told since a list began stays, and an object that is older than it was before shows that the server is", () => {
  const known = new KnownObjects();
  known.changed(meta("10", "u1", "a"));
  known.changed(meta("11", "u2", "b"));
  known.beginList();
  known.changed(meta("15", "u2", "b"));
  assert.equal(known.isRewound(meta("11", "u2", "b")), false);
  assert.equal(known.listed(meta("11", "u2", "b")), false);
  assert.equal(known.isRewound(meta("9", "u1", "a")), true);
  assert.deepEqual(known.missing("20"), ["a"]);
  known.distrust();
  assert.equal(known.isRewound(meta("9", "u1", "a")), false);
  assert.equal(known.listed(meta("9", "u1", "a")), true);
});

test("an answer that comes after later events brings nothing back, and after earlier ones is news", () => {
  const known = new KnownObjects();
  assert.equal(known.answered(meta("10"), "9"), true);
  assert.equal(known.answered(meta("10"), "10"), false);
  assert.equal(known.deleted(meta("11")), true);
  assert.equal(known.answered(meta("10"), "11"), false);
  assert.equal(known.answered(meta("12"), "11"), true);
});

test("an answer during a list is what was told since that began: what the list has of an earlier state is no news", () => {
  const known = new KnownObjects();
  known.changed(meta("10"));
  known.beginList();
  assert.equal(known.answered(meta("15"), "10"), true);
  assert.equal(known.isRewound(meta("10")), false);
  assert.equal(known.listed(meta("10")), false);
  assert.deepEqual(known.missing("12"), []);
});

test("what an answer has shown during a list that lacks it is missing, unless the list is of an earlier moment", () => {
  const known = new KnownObjects();
  known.beginList();
  known.answered(meta("15"), "10");
  assert.deepEqual(known.missing("14"), []);
  assert.deepEqual(known.missing("15"), ["shop/web"]);
  known.beginList();
  assert.deepEqual(known.missing("14"), ["shop/web"]);
});
