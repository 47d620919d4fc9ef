import assert from "node:assert/strict";
import { test } from "node:test";
import { namesOf, objectKey } from "../../api/names.ts";
import { field } from "../../api/parse/fields.ts";
import type { Problem } from "../../api/problem.ts";
import { FactStore } from "./fact-store.ts";
import { StoreQuota } from "./store-quota.ts";

/** A store with a limit of two objects, and what it has reported. */
function newStore(written: boolean) {
  const reported: string[] = [];
  const problems = (object: string, list: readonly Problem[]) =>
    reported.push([`problems of ${object}`, ...list.map(({ reason }) => reason)].join(" "));
  const store = new FactStore<unknown>({
    parse: (object) => {
      const value = field(object, "value");
      if (value !== "wrong") return { object: "x", fact: value, problems: [] };
      const problem = { reason: "invalid-object", object: "x", field: "value", value } as const;
      return { object: "x", problems: [problem] };
    },
    written,
    groupOf: (key) => objectKey("n", namesOf(key).name),
    quota: new StoreQuota<unknown>({
      kind: "objects",
      place: "here",
      limits: [{ reason: "too-many-records", most: 2, weigh: () => 1 }],
      mostProblems: 2,
      ownerOf: () => "shop",
      events: { problems, room: () => reported.push("room") },
    }),
    changed: ({ key, fact }) => reported.push(`${key}: ${String(fact)}`),
    problems,
  });
  const put = (name: string, value: unknown): string[] => {
    const metadata = { namespace: "n", name, uid: "u", resourceVersion: "1" };
    store.changed(`n/${name}`, { metadata, value });
    return reported.splice(0);
  };
  const remove = (name: string): string[] => {
    store.removed(`n/${name}`);
    return reported.splice(0);
  };
  return { store, put, remove };
}

test("an object over the limit is not stored; the overflow and the later room are reported once", () => {
  const { store, put, remove } = newStore(false);
  put("a", 1);
  put("b", 1);
  assert.deepEqual(put("c", 1), [
    "problems of objects of namespace shop in here too-many-records",
    "n/c: undefined",
  ]);
  assert.deepEqual(put("d", 1), ["n/d: undefined"], "the overflow is reported once");
  assert.deepEqual(put("c", 2), []);
  assert.deepEqual([...store.reasonsOf("n/c")], ["too-many-records"]);
  assert.deepEqual([...store.keys()], ["n/a", "n/b"]);
  assert.deepEqual([...store.groups()], ["n/a", "n/b"]);
  assert.deepEqual([...store.known()], ["n/a", "n/b", "n/c", "n/d"], "a later list may lack them");
  assert.deepEqual(put("a", 3), ["n/a: 3"]);
  assert.deepEqual(remove("d"), ["n/d: undefined"]);
  assert.deepEqual([...store.reasonsOf("n/d")], []);
  const ended = "problems of objects of namespace shop in here";
  assert.deepEqual(remove("a"), [ended, "room", "n/a: undefined"]);
  assert.deepEqual(put("c", 2), ["n/c: 2"]);
  assert.deepEqual([...store.reasonsOf("n/c")], []);
});

test("problems are stored and reported up to their limit", () => {
  const { store, put, remove } = newStore(false);
  const WRONG = "problems of x invalid-object";
  assert.deepEqual(put("a", "wrong"), [WRONG, "n/a: undefined"]);
  assert.deepEqual(put("b", "wrong"), [WRONG, "n/b: undefined"]);
  assert.deepEqual(put("c", "wrong"), [
    "problems of objects of namespace shop in here too-many-problems",
  ]);
  for (let i = 0; i < 100; i++) assert.deepEqual(put(`flood-${i}`, "wrong"), []);
  assert.equal(store.size, 2);
  assert.deepEqual(put("d", 1), ["n/d: 1"], "a valid object is stored");
  for (let i = 0; i < 100; i++) remove(`flood-${i}`);
  assert.deepEqual(remove("c"), ["problems of objects of namespace shop in here"]);
  assert.deepEqual(remove("a"), ["problems of x", "n/a: undefined"]);
  assert.deepEqual(put("c", "wrong"), [WRONG, "n/c: undefined"]);
});

test("of a written kind, rejected objects stay known, so that they can be deleted", () => {
  const { store, put, remove } = newStore(true);
  put("a", 1);
  put("b", 1);
  assert.deepEqual(put("c", 1), [
    "problems of objects of namespace shop in here too-many-records",
    "n/c: undefined",
  ]);
  assert.equal(store.fact("n/c"), undefined);
  assert.equal(store.seen("n/c")?.uid, "u");
  assert.deepEqual([...store.keysOf("n/c")], ["n/c"]);
  assert.deepEqual(remove("c"), [
    "problems of objects of namespace shop in here",
    "n/c: undefined",
  ]);
});
