import assert from "node:assert/strict";
import { test } from "node:test";
import { field } from "../../api/parse/fields.ts";
import { FactStore } from "./fact-store.ts";

/** A store of objects whose fact is their `value`, grouped by `of`, and what it has told. */
function newStore(written: boolean) {
  const told: string[] = [];
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
    groupOf: (_key, object) => String(field(object, "of")),
    told: {
      changed: (key, fact, before, group) => {
        told.push(`${key}: ${String(before)} -> ${String(fact)} (${String(group)})`);
      },
      problems: (_object, problems) => told.push(`problems ${problems.length}`),
    },
  });
  return { store, news: () => told.splice(0) };
}

function object(value: unknown, of = "g", resourceVersion = "1", labels = {}) {
  return { metadata: { namespace: "n", name: "a", uid: "u", resourceVersion, labels }, value, of };
}

test("a change of a fact is told, and nothing else is", () => {
  const { store, news } = newStore(false);
  store.changed("n/a", object(1));
  store.changed("n/a", object(1, "g", "2", { x: "y" }));
  store.changed("n/a", object(2, "g", "3"));
  store.removed("n/a");
  store.removed("n/a");
  assert.deepEqual(news(), [
    "n/a: undefined -> 1 (g)",
    "n/a: 1 -> 2 (g)",
    "n/a: 2 -> undefined (g)",
  ]);
  assert.equal(store.size, 0);
});

test("of a kind that we write, whatever else the object says is told, too, but not a new version of the same", () => {
  const { store, news } = newStore(true);
  store.changed("n/a", object(1));
  store.changed("n/a", object(1, "g", "2", { x: "y" }));
  store.changed("n/a", object(1, "g", "3", { x: "y" }));
  assert.deepEqual(news(), ["n/a: undefined -> 1 (g)", "n/a: 1 -> 1 (g)"]);
  assert.equal(store.seen("n/a")?.resourceVersion, "3");
});

test("an object that changes its group is told to both", () => {
  const { store, news } = newStore(false);
  store.changed("n/a", object(1));
  store.changed("n/a", object(2, "h"));
  assert.deepEqual(news().slice(1), ["n/a: 1 -> 2 (h)", "n/a: 1 -> undefined (g)"]);
  assert.deepEqual(store.factsOf("g"), []);
  assert.deepEqual(store.factsOf("h"), [2]);
  assert.deepEqual([...store.groups()], ["h"]);
});

test("an object that becomes unusable is told, keeps its place, and nothing of its old self", () => {
  const { store, news } = newStore(true);
  store.changed("n/a", object(1));
  store.changed("n/a", object("bad", "g", "2"));
  assert.equal(store.fact("n/a"), undefined);
  assert.deepEqual([...store.keysOf("g")], ["n/a"]);
  assert.equal(store.seen("n/a")?.resourceVersion, "2");
  store.removed("n/a");
  assert.deepEqual(news().slice(1), [
    "problems 1",
    "n/a: 1 -> undefined (g)",
    "problems 0",
    "n/a: undefined -> undefined (g)",
  ]);
});
