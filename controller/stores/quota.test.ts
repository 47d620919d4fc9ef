import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { Quota } from "./quota.ts";

/** What a store would hold: at most `most` texts, with at most `characters` characters in total. */
class Texts {
  readonly held = new Map<string, string>();
  readonly reported: string[] = [];
  readonly quota: Quota<string>;

  constructor(most: number, characters = 1000) {
    this.quota = new Quota<string>(
      [
        { reason: "too-many-records", most, weigh: () => 1 },
        { reason: "too-many-keys", most: characters, weigh: (text) => text.length },
      ],
      {
        evicted: (key) => assert.ok(this.held.delete(key), `${key} was held`),
        rejects: (owner, reasons) => this.reported.push([owner, ...reasons].join(" ")),
        room: () => this.reported.push("room"),
      },
    );
  }

  /** `key`: `namespace/name`. */
  put(key: string, text: string | undefined, since = 0): boolean {
    const [owner = ""] = key.split("/");
    const isTaken = this.quota.take({ key, owner, since }, text);
    if (isTaken && text !== undefined) this.held.set(key, text);
    else this.held.delete(key);
    return isTaken;
  }

  get keys(): string[] {
    return [...this.held.keys()].sort();
  }
}

test("in one namespace the oldest objects stay, and later ones wait for room", () => {
  const texts = new Texts(2);
  assert.ok(texts.put("a/1", "x", 1));
  assert.ok(texts.put("a/2", "x", 2));
  assert.equal(texts.put("a/3", "x", 3), false);
  assert.equal(texts.quota.rejection("a/3"), "too-many-records");
  assert.ok(texts.put("a/1", "y", 1), "an object that is held may change");
  assert.deepEqual(texts.reported.splice(0), ["a too-many-records"]);
  texts.put("a/2", undefined);
  assert.deepEqual(texts.reported.splice(0), ["a", "room"]);
  assert.ok(texts.put("a/3", "x", 3));
});

test("one namespace cannot take another's place, whatever comes first", () => {
  const texts = new Texts(10);
  for (let i = 0; i < 30; i++) texts.put(`greedy/${i}`, "x", i);
  assert.equal(texts.held.size, 10);
  assert.ok(texts.put("shop/web", "x", 99));
  assert.ok(texts.held.has("shop/web"));
  assert.equal(texts.held.size, 10, "the greedy namespace has lost its youngest object");
  assert.equal(texts.held.has("greedy/9"), false);
  assert.equal(texts.quota.rejection("shop/web"), undefined);
  assert.deepEqual(texts.reported, ["greedy too-many-records"]);
});

test("an object that grows beyond its namespace's share is rejected, and the others of the namespace get its room", () => {
  const texts = new Texts(9, 10);
  assert.ok(texts.put("a/1", "12345", 1));
  assert.ok(texts.put("a/2", "1234", 2));
  assert.equal(texts.put("a/2", "1234567", 2), false);
  assert.ok(texts.put("b/1", "12345"), "half is the other namespace's");
  assert.ok(texts.held.has("a/1"));
});

test("a list over the limit is cut at its end, and a second list of the same changes nothing", () => {
  const texts = new Texts(10);
  const list = () => {
    texts.quota.begin();
    for (let i = 0; i < 40; i++) texts.put(`a-greedy/${i}`, "x", i);
    texts.put("shop/web", "x", 99);
    texts.quota.end();
  };
  list();
  const { keys } = texts;
  assert.equal(keys.length, 10);
  assert.ok(keys.includes("shop/web"));
  assert.deepEqual(texts.reported.splice(0), ["a-greedy too-many-records"]);
  list();
  assert.deepEqual(texts.keys, keys);
  assert.deepEqual(texts.reported, []);
});

const change = fc.record({
  namespace: fc.constantFrom("a", "b", "c"),
  name: fc.constantFrom("1", "2", "3", "4"),
  since: fc.nat(3),
  text: fc.option(fc.string({ maxLength: 6 }), { nil: undefined }),
});

test("no history exceeds the limits, leaks weight, or leaves what depends on its order", () =>
  forAll([fc.array(change, { maxLength: 60 })], (changes) => {
    const texts = new Texts(6, 16);
    const present = new Map<string, { text: string; since: number }>();
    for (const { namespace, name, since, text } of changes) {
      const key = `${namespace}/${name}`;
      texts.put(key, text, since);
      if (text === undefined) present.delete(key);
      else present.set(key, { text, since });
      assert.ok(texts.held.size <= 6);
      assert.ok([...texts.held.values()].join("").length <= 16);
    }
    // As after a restart, and after objects that fit now were listed again.
    const fresh = new Texts(6, 16);
    fresh.quota.begin();
    for (const [key, { text, since }] of present) fresh.put(key, text, since);
    fresh.quota.end();
    for (const [key, { text, since }] of present) texts.put(key, text, since);
    assert.deepEqual(texts.keys, fresh.keys);
    for (const key of present.keys())
      assert.equal(texts.quota.rejection(key), fresh.quota.rejection(key), key);
    for (const key of present.keys()) texts.put(key, undefined);
    for (const key of ["a/1", "b/1", "c/1"]) assert.ok(texts.put(key, "12"));
  }));
