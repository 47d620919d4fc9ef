import assert from "node:assert/strict";
import { test } from "node:test";
import { field, fieldAt } from "../../api/parse/fields.ts";
import { Allowance } from "./allowance.ts";
import { FactStore } from "./fact-store.ts";

/** A store that believes two objects, and what it has told. */
function newStore(written: boolean) {
  const told: string[] = [];
  const store = new FactStore<unknown>({
    parse: (object) => {
      const value = field(object, "value");
      if (value !== "wrong") return { object: "x", fact: value, problems: [] };
      const problem = { reason: "invalid-object", object: "x", field: "value", value } as const;
      return { object: "x", problems: [problem] };
    },
    written,
    groupOf: (_key, object) => String(fieldAt(object, "metadata", "name")),
    allowance: {
      allowance: new Allowance([{ reason: "too-many-records", most: 2, weigh: () => 1 }]),
      faults: new Allowance([{ reason: "too-many-problems", most: 2, weigh: () => 1 }]),
      of: "all of it",
    },
    told: {
      changed: (key, fact, before) => told.push(`${key}: ${String(before)} -> ${String(fact)}`),
      problems: (object, problems) =>
        told.push([`problems of ${object}`, ...problems.map(({ reason }) => reason)].join(" ")),
      room: () => told.push("room"),
    },
  });
  const put = (name: string, value: unknown): string[] => {
    const metadata = { namespace: "n", name, uid: "u", resourceVersion: "1" };
    store.changed(`n/${name}`, { metadata, value });
    return told.splice(0);
  };
  const remove = (name: string): string[] => {
    store.removed(`n/${name}`);
    return told.splice(0);
  };
  return { store, put, remove };
}

test("what there is no room for is not kept at all, and told of once; room is told, too", () => {
  const { store, put, remove } = newStore(false);
  put("a", 1);
  put("b", 1);
  assert.deepEqual(put("c", 1), ["problems of all of it too-many-records"]);
  assert.deepEqual(put("d", 1), [], "it has been said");
  assert.deepEqual(put("c", 2), []);
  assert.deepEqual([...store.keys()], ["n/a", "n/b"]);
  assert.deepEqual([...store.groups()], ["a", "b"]);
  assert.deepEqual(put("a", 3), ["n/a: 1 -> 3"]);
  assert.deepEqual(remove("d"), []);
  assert.deepEqual(remove("a"), ["room", "n/a: 3 -> undefined"]);
  assert.deepEqual(put("c", 2), ["problems of all of it", "n/c: undefined -> 2"]);
});

test("what is wrong is remembered as far as there is room, and told of; what is neither right nor told is not kept", () => {
  const { store, put, remove } = newStore(false);
  const WRONG = "problems of x invalid-object";
  assert.deepEqual(put("a", "wrong"), [WRONG]);
  assert.deepEqual(put("b", "wrong"), [WRONG]);
  assert.deepEqual(put("c", "wrong"), ["problems of all of it too-many-problems"]);
  for (let i = 0; i < 100; i++) assert.deepEqual(put(`flood-${i}`, "wrong"), []);
  assert.equal(store.size, 2);
  assert.deepEqual(put("d", 1), ["n/d: undefined -> 1"], "what is right is believed");
  for (let i = 0; i < 100; i++) remove(`flood-${i}`);
  assert.deepEqual(remove("c"), ["problems of all of it"]);
  assert.deepEqual(remove("a"), ["problems of x", "n/a: undefined -> undefined"]);
  assert.deepEqual(put("c", "wrong"), [WRONG]);
});

test("of objects that we write, it is remembered what they are like, believed or not: they are ours to delete", () => {
  const { store, put, remove } = newStore(true);
  put("a", 1);
  put("b", 1);
  assert.deepEqual(put("c", 1), [
    "problems of all of it too-many-records",
    "n/c: undefined -> undefined",
  ]);
  assert.equal(store.fact("n/c"), undefined);
  assert.equal(store.seen("n/c")?.uid, "u");
  assert.deepEqual([...store.keysOf("c")], ["n/c"]);
  assert.deepEqual(remove("c"), ["problems of all of it", "n/c: undefined -> undefined"]);
});
