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

/**
 * What happens to known objects, one after the other, each with what it is answered after `=`, if that matters: `y` or `n`, or
 * the keys that are missing. Objects are `version`, or `version/key/uid`; `at`: the version of the list or of the last event.
 */
const EVENTS: Readonly<Record<string, (known: KnownObjects, object: Meta, at: string) => unknown>> =
  {
    list: (known) => known.beginList(),
    listed: (known, object) => known.listed(object),
    changed: (known, object) => known.changed(object),
    deleted: (known, object) => known.deleted(object),
    answered: (known, object, at) => known.inResponse(object, at),
    isRewound: (known, object) => known.isRewound(object),
    rewound: (known) => known.invalidateVersions(),
    undelivered: (known, { key }) => known.undelivered(key),
    missing: (known, { resourceVersion }) => known.missing(resourceVersion).join("+"),
    size: (known) => String(known.size),
  };

interface Meta {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

for (const [name, ...events] of [
  [
    "an unchanged object is not news, neither in a list nor in an event",
    "list, listed 5=y, listed 5=n, changed 5=n, changed 6=y",
  ],
  [
    "an event older than the known version is ignored",
    "changed 100, changed 99=n, deleted 99=n, deleted 101=y, deleted 101=n",
  ],
  [
    "an older version in a list is news: the server may have been restored",
    "changed 100, list, listed 7=y, changed 8=y",
  ],
  [
    "a recreated object (another uid) is news, whatever its version",
    "changed 5/a/u1, listed 5/a/u2=y",
  ],
  [
    "objects that the last list did not contain are missing; objects added since then are not",
    "list, listed 1/a, listed 1/b, listed 1/c, list, listed 1/b, changed 9/d, missing 20=a+c",
  ],
  [
    "an object whose delivery failed is news again, and still known",
    "changed 5, undelivered 5, size=1, listed 5=y",
  ],
  [
    "an older version in a list is ignored after an event since the list began, and means a restored server before",
    "changed 10/a, changed 11/b, list, changed 15/b, isRewound 11/b=n, listed 11/b=n",
    "isRewound 9/a=y, missing 20=a, rewound, isRewound 9/a=n, listed 9/a=y",
  ],
  [
    "a response does not restore an object that later events deleted, and is news after earlier events",
    "answered 10 at 9=y, answered 10 at 10=n, deleted 11=y, answered 10 at 11=n, answered 12 at 11=y",
  ],
  [
    "after a response during a list, an older version in that list is not news",
    "changed 10, list, answered 15 at 10=y, isRewound 10=n, listed 10=n, missing 12=",
  ],
  [
    "an object in a response that the list in progress lacks is missing, unless the list is of an older version",
    "list, answered 15 at 10, missing 14=, missing 15=web, list, missing 14=web",
  ],
]) {
  test(String(name), () => {
    const known = new KnownObjects({ evicted: () => undefined, leavesOut: () => undefined });
    for (const event of events.join(", ").split(", ")) {
      const [said = "", expected] = event.split("=");
      const [what = "", object = "", , at = ""] = said.split(" ");
      const [resourceVersion = "", key = "web", uid = `of ${key}`] = object.split("/");
      const answer = EVENTS[what]?.(known, { key, uid, resourceVersion }, at);
      const word = typeof answer === "boolean" ? (answer ? "y" : "n") : answer;
      if (expected !== undefined) assert.equal(word, expected, event);
    }
  });
}

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
