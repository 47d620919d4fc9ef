import assert from "node:assert/strict";
import { test } from "node:test";
import { KnownObjects } from "./known-objects.ts";

const meta = (resourceVersion: string, uid = "u1", key = "shop/web") => ({
  key,
  uid,
  resourceVersion,
});

test("an unchanged object is not news, neither in a list nor in an event", () => {
  const known = new KnownObjects();
  known.beginList();
  assert.equal(known.listed(meta("5")), true);
  assert.equal(known.listed(meta("5")), false);
  assert.equal(known.changed(meta("5")), false);
  assert.equal(known.changed(meta("6")), true);
});

test("an event older than the known version is ignored", () => {
  const known = new KnownObjects();
  known.changed(meta("100"));
  assert.equal(known.changed(meta("99")), false);
  assert.equal(known.deleted(meta("99")), false);
  assert.equal(known.deleted(meta("101")), true);
  assert.equal(known.deleted(meta("101")), false);
});

test("an older version in a list is news: the server may have been restored", () => {
  const known = new KnownObjects();
  known.changed(meta("100"));
  known.beginList();
  assert.equal(known.listed(meta("7")), true);
  assert.equal(known.changed(meta("8")), true);
});

test("a recreated object (another uid) is news, whatever its version", () => {
  const known = new KnownObjects();
  known.changed(meta("5", "u1"));
  assert.equal(known.listed(meta("5", "u2")), true);
});

test("objects that the last list did not contain are missing; objects added since then are not", () => {
  const known = new KnownObjects();
  known.beginList();
  for (const name of ["a", "b", "c"]) known.listed(meta("1", "u", name));
  known.beginList();
  known.listed(meta("1", "u", "b"));
  known.changed(meta("9", "u", "d"));
  assert.deepEqual(known.missing("20"), ["a", "c"]);
});

test("an object whose delivery failed is news again, and still known", () => {
  const known = new KnownObjects();
  known.changed(meta("5"));
  known.undelivered("shop/web");
  assert.equal(known.size, 1);
  assert.equal(known.listed(meta("5")), true);
});

test("an older version in a list is ignored after an event since the list began, and means a restored server before", () => {
  const known = new KnownObjects();
  known.changed(meta("10", "u1", "a"));
  known.changed(meta("11", "u2", "b"));
  known.beginList();
  known.changed(meta("15", "u2", "b"));
  assert.equal(known.isRewound(meta("11", "u2", "b")), false);
  assert.equal(known.listed(meta("11", "u2", "b")), false);
  assert.equal(known.isRewound(meta("9", "u1", "a")), true);
  assert.deepEqual(known.missing("20"), ["a"]);
  known.invalidateVersions();
  assert.equal(known.isRewound(meta("9", "u1", "a")), false);
  assert.equal(known.listed(meta("9", "u1", "a")), true);
});

test("a response does not restore an object that later events deleted, and is news after earlier events", () => {
  const known = new KnownObjects();
  assert.equal(known.inResponse(meta("10"), "9"), true);
  assert.equal(known.inResponse(meta("10"), "10"), false);
  assert.equal(known.deleted(meta("11")), true);
  assert.equal(known.inResponse(meta("10"), "11"), false);
  assert.equal(known.inResponse(meta("12"), "11"), true);
});

test("after a response during a list, an older version in that list is not news", () => {
  const known = new KnownObjects();
  known.changed(meta("10"));
  known.beginList();
  assert.equal(known.inResponse(meta("15"), "10"), true);
  assert.equal(known.isRewound(meta("10")), false);
  assert.equal(known.listed(meta("10")), false);
  assert.deepEqual(known.missing("12"), []);
});

test("an object in a response that the list in progress lacks is missing, unless the list is of an older version", () => {
  const known = new KnownObjects();
  known.beginList();
  known.inResponse(meta("15"), "10");
  assert.deepEqual(known.missing("14"), []);
  assert.deepEqual(known.missing("15"), ["shop/web"]);
  known.beginList();
  assert.deepEqual(known.missing("14"), ["shop/web"]);
});
