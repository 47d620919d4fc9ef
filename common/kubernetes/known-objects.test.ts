import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { confirmRemovals } from "./confirm-removals.ts";
import { KnownObjects } from "./known-objects.ts";
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

test("names that an API server accepts in no path have no identity", () => {
  const metadata = { name: "web", namespace: "shop", resourceVersion: "1" };
  for (const name of [".", "..", "a/b", "..%2f..", "%2e%2e"]) {
    assert.equal(metaOf({ metadata: { ...metadata, name } }), undefined);
    assert.equal(metaOf({ metadata: { ...metadata, namespace: name } }), undefined);
  }
  assert.equal(metaOf({ metadata: { ...metadata, name: "..." } })?.key, "shop/...");
});

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

const newKnown = () => new KnownObjects({ evicted: () => undefined, leavesOut: () => undefined });

const meta = (resourceVersion: string, uid = "u1", key = "shop/web") => ({
  key,
  uid,
  resourceVersion,
});

test("an unchanged object is not news, neither in a list nor in an event", () => {
  const known = newKnown();
  known.beginList();
  assert.equal(known.listed(meta("5")), true);
  assert.equal(known.listed(meta("5")), false);
  assert.equal(known.changed(meta("5")), false);
  assert.equal(known.changed(meta("6")), true);
});

test("an event older than the known version is ignored", () => {
  const known = newKnown();
  known.changed(meta("100"));
  assert.equal(known.changed(meta("99")), false);
  assert.equal(known.deleted(meta("99")), false);
  assert.equal(known.deleted(meta("101")), true);
  assert.equal(known.deleted(meta("101")), false);
});

test("an older version in a list is news: the server may have been restored", () => {
  const known = newKnown();
  known.changed(meta("100"));
  known.beginList();
  assert.equal(known.listed(meta("7")), true);
  assert.equal(known.changed(meta("8")), true);
});

test("a recreated object (another uid) is news, whatever its version", () => {
  const known = newKnown();
  known.changed(meta("5", "u1"));
  assert.equal(known.listed(meta("5", "u2")), true);
});

test("objects that the last list did not contain are missing; objects added since then are not", () => {
  const known = newKnown();
  known.beginList();
  for (const name of ["a", "b", "c"]) known.listed(meta("1", "u", name));
  known.beginList();
  known.listed(meta("1", "u", "b"));
  known.changed(meta("9", "u", "d"));
  assert.deepEqual(known.missing("20"), ["a", "c"]);
});

test("an object whose delivery failed is news again, and still known", () => {
  const known = newKnown();
  known.changed(meta("5"));
  known.undelivered("shop/web");
  assert.equal(known.size, 1);
  assert.equal(known.listed(meta("5")), true);
});

test("an older version in a list is ignored after an event since the list began, and means a restored server before", () => {
  const known = newKnown();
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
  const known = newKnown();
  assert.equal(known.inResponse(meta("10"), "9"), true);
  assert.equal(known.inResponse(meta("10"), "10"), false);
  assert.equal(known.deleted(meta("11")), true);
  assert.equal(known.inResponse(meta("10"), "11"), false);
  assert.equal(known.inResponse(meta("12"), "11"), true);
});

test("after a response during a list, an older version in that list is not news", () => {
  const known = newKnown();
  known.changed(meta("10"));
  known.beginList();
  assert.equal(known.inResponse(meta("15"), "10"), true);
  assert.equal(known.isRewound(meta("10")), false);
  assert.equal(known.listed(meta("10")), false);
  assert.deepEqual(known.missing("12"), []);
});

test("an object in a response that the list in progress lacks is missing, unless the list is of an older version", () => {
  const known = newKnown();
  known.beginList();
  known.inResponse(meta("15"), "10");
  assert.deepEqual(known.missing("14"), []);
  assert.deepEqual(known.missing("15"), ["shop/web"]);
  known.beginList();
  assert.deepEqual(known.missing("14"), ["shop/web"]);
});

const keys = (count: number): string[] => Array.from({ length: count }, (_, i) => `shop/${i}`);

test("a few of many objects are removed by the first list", () => {
  assert.deepEqual(confirmRemovals(keys(3), 5, undefined, false), {
    remove: keys(3),
    unconfirmed: undefined,
  });
  assert.deepEqual(confirmRemovals(keys(11), 22, undefined, false), {
    remove: keys(11),
    unconfirmed: undefined,
  });
});

test("all objects, or most of many, are removed only by a second list that misses them", () => {
  for (const [missing, known] of [
    [1, 1],
    [5, 5],
    [11, 21],
    [900, 1000],
  ] as const) {
    const first = confirmRemovals(keys(missing), known, undefined, false);
    assert.deepEqual(first, { remove: [], unconfirmed: new Set(keys(missing)) });
    const second = confirmRemovals(keys(missing), known, first.unconfirmed, false);
    assert.deepEqual(second, { remove: keys(missing), unconfirmed: undefined });
  }
});

test("objects that only the second list misses are unconfirmed", () => {
  const first = confirmRemovals(keys(60), 100, undefined, false);
  const second = confirmRemovals(keys(100), 100, first.unconfirmed, false);
  assert.deepEqual(second, { remove: keys(60), unconfirmed: new Set(keys(100).slice(60)) });
});

test("after a lower resourceVersion, no object is removed by the first list", () => {
  assert.deepEqual(confirmRemovals(keys(1), 50, undefined, true).remove, []);
  assert.deepEqual(confirmRemovals([], 50, undefined, true), {
    remove: [],
    unconfirmed: undefined,
  });
});

test("every missing object is either removed or unconfirmed, and no other object is", async () => {
  const lists = fc.array(fc.uniqueArray(fc.nat(30)));
  await forAll([fc.uniqueArray(fc.nat(30)), lists, fc.boolean()], (all, seen, rewound) => {
    let known = new Set(all.map(String));
    let unconfirmed: ReadonlySet<string> | undefined;
    for (const list of seen) {
      const missing = [...known].filter((key) => !list.map(String).includes(key));
      const before = unconfirmed;
      const { remove, unconfirmed: after } = confirmRemovals(missing, known.size, before, rewound);
      assert.deepEqual([...remove, ...(after ?? [])].sort(), [...missing].sort());
      if (remove.length === known.size) assert.ok(remove.every((key) => before?.has(key)));
      known = new Set([...known].filter((key) => !remove.includes(key)));
      unconfirmed = after;
    }
  });
});
