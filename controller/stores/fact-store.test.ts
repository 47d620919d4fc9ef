import assert from "node:assert/strict";
import { test } from "node:test";
import { field } from "../../api/parse/fields.ts";
import { FactStore } from "./fact-store.ts";

/** A store whose facts are the `value` of objects, grouped by `of`, and what it has reported. */
function newStore(written: boolean) {
  const reported: string[] = [];
  const store = new FactStore<unknown>({
    parse: (object) => {
      const value = field(object, "value");
      if (value === "bad") {
        const problem = {
          reason: "invalid-object",
          object: "x",
          field: "value",
          value: "",
        } as const;
        return { object: "x", problems: [problem] };
      }
      return { object: "x", fact: value, problems: [] };
    },
    written,
    groupOf: (_key, object) => `n/${String(field(object, "of"))}`,
    changed: ({ key, fact, group }) => {
      reported.push(`${key}: ${String(fact)} (${String(group)})`);
    },
    problems: (_object, problems) => reported.push(`problems ${problems.length}`),
  });
  return { store, news: () => reported.splice(0) };
}

function object(value: unknown, of = "g", resourceVersion = "1", labels = {}) {
  return { metadata: { namespace: "n", name: "a", uid: "u", resourceVersion, labels }, value, of };
}

test("only changes of a fact are reported", () => {
  const { store, news } = newStore(false);
  store.changed("n/a", object(1));
  store.changed("n/a", object(1, "g", "2", { x: "y" }));
  store.changed("n/a", object(2, "g", "3"));
  store.removed("n/a");
  store.removed("n/a");
  assert.deepEqual(news(), ["n/a: 1 (n/g)", "n/a: 2 (n/g)", "n/a: undefined (n/g)"]);
  assert.equal(store.size, 0);
});

test("for a written kind any change of content is reported, but not a new version alone", () => {
  const { store, news } = newStore(true);
  store.changed("n/a", object(1));
  store.changed("n/a", object(1, "g", "2", { x: "y" }));
  store.changed("n/a", object(1, "g", "3", { x: "y" }));
  assert.deepEqual(news(), ["n/a: 1 (n/g)", "n/a: 1 (n/g)"]);
  assert.equal(store.seen("n/a")?.resourceVersion, "3");
});

test("a change of group is reported for both groups", () => {
  const { store, news } = newStore(false);
  store.changed("n/a", object(1));
  store.changed("n/a", object(2, "h"));
  assert.deepEqual(news().slice(1), ["n/a: 2 (n/h)", "n/a: undefined (n/g)"]);
  assert.deepEqual(store.factsOf("n/g"), []);
  assert.deepEqual(store.factsOf("n/h"), [2]);
  assert.deepEqual([...store.groups()], ["n/h"]);
});

test("an object that becomes unusable is reported, stays in its group, and loses its fact", () => {
  const { store, news } = newStore(true);
  store.changed("n/a", object(1));
  store.changed("n/a", object("bad", "g", "2"));
  assert.equal(store.fact("n/a"), undefined);
  assert.deepEqual([...store.keysOf("n/g")], ["n/a"]);
  assert.equal(store.seen("n/a")?.resourceVersion, "2");
  store.removed("n/a");
  assert.deepEqual(news().slice(1), [
    "problems 1",
    "n/a: undefined (n/g)",
    "problems 0",
    "n/a: undefined (n/g)",
  ]);
});

test("an object that a list lacks is retained until it is known to be gone", () => {
  let isGone = false;
  const reported: string[] = [];
  const store = new FactStore<unknown>({
    parse: (found) => ({ object: "x", fact: field(found, "value"), problems: [] }),
    written: true,
    groupOf: () => "n/g",
    isGone: () => isGone,
    changed: ({ key, fact }) => reported.push(`${key}: ${String(fact)}`),
    problems: () => undefined,
  });
  store.changed("n/a", object(1));
  store.changed("n/b", object(2));
  store.removed("n/a", "missing");
  assert.deepEqual(store.factsOf("n/g"), [1, 2]);
  assert.equal(store.seen("n/a"), undefined, "a write would create it");
  assert.deepEqual([store.size, ...store.keys()], [1, "n/b"]);
  store.removed("n/b", "deleted");
  assert.deepEqual(store.factsOf("n/g"), [1]);
  store.changed("n/a", object(1, "g", "2"));
  assert.deepEqual([store.size, ...store.keys()], [1, "n/a"]);
  store.removed("n/a", "missing");
  store.removeMissing();
  assert.deepEqual([store.size, ...store.factsOf("n/g")], [0]);
  store.changed("n/a", object(1));
  isGone = true;
  store.removed("n/a", "missing");
  assert.equal(store.fact("n/a"), undefined);
  assert.deepEqual(reported.slice(2, 4), ["n/a: 1", "n/b: undefined"]);
});
