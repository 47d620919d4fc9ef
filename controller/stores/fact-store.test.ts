import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { namesOf, objectKey } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { field } from "../../api/parse/fields.ts";
import type { Problem } from "../../api/problem.ts";
import { Quota } from "../../api/quota.ts";
import { StoreQuota } from "../../api/store-quota.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { contentDigest, statusDigest } from "./content-digest.ts";
import { FactStore } from "./fact-store.ts";

/** The fact of an object is its `value`; `bad` is none. */
function parse(found: unknown): Parsed<unknown> {
  const value = field(found, "value");
  if (value !== "bad") return { object: "x", fact: value, problems: [] };
  const problem = { reason: "invalid-object", object: "x", field: "value", value } as const;
  return { object: "x", problems: [problem] };
}

/** A store whose facts are the `value` of objects, grouped by `of`, and what it has reported. */
function newStore(written: boolean) {
  const reported: string[] = [];
  const store = new FactStore<unknown>({
    parse,
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
    parse,
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
  assert.deepEqual(store.factsOf("n/g"), [1]);
  isGone = true;
  store.removeMissing();
  assert.deepEqual([store.size, ...store.factsOf("n/g")], [0]);
  store.changed("n/a", object(1));
  store.removed("n/a", "missing");
  assert.equal(store.fact("n/a"), undefined);
  assert.deepEqual(reported.slice(2, 4), ["n/a: 1", "n/b: undefined"]);
});

/** A store with a limit of two objects, and what it has reported. */
function limitedStore(written: boolean) {
  const reported: string[] = [];
  const problems = (object: string, list: readonly Problem[]) =>
    reported.push([`problems of ${object}`, ...list.map(({ reason }) => reason)].join(" "));
  const store = new FactStore<unknown>({
    parse,
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

const ENDED = "problems of objects of namespace shop in here";

test("an object over the limit is not stored; the overflow and the later room are reported once", () => {
  const { store, put, remove } = limitedStore(false);
  put("a", 1);
  put("b", 1);
  assert.deepEqual(put("c", 1), [`${ENDED} too-many-records`, "n/c: undefined"]);
  assert.deepEqual(put("d", 1), ["n/d: undefined"], "the overflow is reported once");
  assert.deepEqual(put("c", 2), []);
  assert.deepEqual([...store.reasonsOf("n/c")], ["too-many-records"]);
  assert.deepEqual([...store.keys()], ["n/a", "n/b"]);
  assert.deepEqual([...store.groups()], ["n/a", "n/b"]);
  assert.deepEqual([...store.known()], ["n/a", "n/b", "n/c", "n/d"], "a later list may lack them");
  assert.deepEqual(put("a", 3), ["n/a: 3"]);
  assert.deepEqual(remove("d"), ["n/d: undefined"]);
  assert.deepEqual([...store.reasonsOf("n/d")], []);
  assert.deepEqual(remove("a"), [ENDED, "room", "n/a: undefined"]);
  assert.deepEqual(put("c", 2), ["n/c: 2"]);
  assert.deepEqual([...store.reasonsOf("n/c")], []);
});

test("problems are stored and reported up to their limit", () => {
  const { store, put, remove } = limitedStore(false);
  const WRONG = "problems of x invalid-object";
  assert.deepEqual(put("a", "bad"), [WRONG, "n/a: undefined"]);
  assert.deepEqual(put("b", "bad"), [WRONG, "n/b: undefined"]);
  assert.deepEqual(put("c", "bad"), [`${ENDED} too-many-problems`]);
  for (let i = 0; i < 100; i++) assert.deepEqual(put(`flood-${i}`, "bad"), []);
  assert.equal(store.size, 2);
  assert.deepEqual(put("d", 1), ["n/d: 1"], "a valid object is stored");
  assert.ok(store.rejected().has("n/c"), "read again when there is room");
  for (let i = 0; i < 100; i++) remove(`flood-${i}`);
  assert.deepEqual([...store.rejected()], ["n/c"]);
  assert.deepEqual(remove("c"), [ENDED]);
  assert.equal(store.rejected().size, 0);
  assert.deepEqual(remove("a"), ["problems of x", "n/a: undefined"]);
  assert.deepEqual(put("c", "bad"), [WRONG, "n/c: undefined"]);
});

test("of a written kind, rejected objects stay known, so that they can be deleted", () => {
  const { store, put, remove } = limitedStore(true);
  put("a", 1);
  put("b", 1);
  assert.deepEqual(put("c", 1), [`${ENDED} too-many-records`, "n/c: undefined"]);
  assert.equal(store.fact("n/c"), undefined);
  assert.equal(store.seen("n/c")?.uid, "u");
  assert.deepEqual([...store.keysOf("n/c")], ["n/c"]);
  assert.deepEqual(remove("c"), [ENDED, "n/c: undefined"]);
});

const SLICE = {
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "web-1", resourceVersion: "7", labels: { b: "2", a: "1" } },
  addressType: "IPv4",
  endpoints: [{ addresses: ["10.1.0.7"], conditions: { ready: true } }, null],
};

function isAlike(other: object): boolean {
  return contentDigest(SLICE) === contentDigest({ ...SLICE, ...other });
}

test("order of fields, version and empty fields do not change the digest", () => {
  const labels = { a: "1", b: "2" };
  assert.ok(
    isAlike({ metadata: { labels, name: "web-2", resourceVersion: "8", annotations: {} } }),
  );
  assert.ok(isAlike({ apiVersion: "discovery.k8s.io/v2", status: { x: 1 } }));
  assert.ok(isAlike({ ports: [], hints: null, more: { nothing: { at: [] } } }));
  const { endpoints, addressType, ...rest } = SLICE;
  assert.equal(contentDigest({ ...rest, endpoints, addressType }), contentDigest(SLICE));
});

test("labels, values and the order of lists change the digest", () => {
  assert.ok(!isAlike({ metadata: { labels: { a: "1" } } }));
  assert.ok(!isAlike({ metadata: { ...SLICE.metadata, annotations: { a: "1" } } }));
  assert.ok(!isAlike({ addressType: "IPv6" }));
  assert.ok(!isAlike({ endpoints: SLICE.endpoints.toReversed() }));
  assert.ok(!isAlike({ endpoints: [...SLICE.endpoints, null] }));
  assert.ok(!isAlike({ some: false }) && !isAlike({ some: 0 }) && !isAlike({ some: "" }));
});

test("fields of any name count", () => {
  for (const name of ["__proto__", "constructor", "toJSON"]) {
    const more = JSON.parse(`{ "${name}": { "a": "b" } }`);
    assert.ok(!isAlike(more), name);
    assert.notEqual(statusDigest({ status: more }), statusDigest({}), name);
  }
});

test("content and status have separate digests", () => {
  const of = (status: unknown) => statusDigest({ ...SLICE, status });
  assert.equal(of({ conditions: [] }), of(undefined));
  assert.notEqual(of({ clusters: [{ cluster: "c1" }] }), of({ clusters: [{ cluster: "c2" }] }));
});

/** What a store would hold: at most `most` texts, with at most `characters` characters in total. */
class Texts {
  readonly held = new Map<string, { readonly text: string; readonly since: number }>();
  readonly quota: Quota<string>;

  constructor(most: number, characters: number) {
    this.quota = new Quota<string>(
      [
        { reason: "too-many-records", most, weigh: () => 1 },
        { reason: "too-many-keys", most: characters, weigh: (text) => text.length },
      ],
      {
        held: (key) => this.held.get(key)?.text,
        allHeld: () => this.#allHeld(),
        evicted: (key) => assert.ok(this.held.delete(key), `${key} was held`),
        rejects: () => undefined,
        room: () => undefined,
      },
    );
  }

  /** `key`: `namespace/name`. */
  put(key: string, text: string | undefined, since = 0): boolean {
    const [owner = ""] = key.split("/");
    const isTaken = this.quota.take({ key, owner, since }, text);
    if (isTaken && text !== undefined) this.held.set(key, { text, since });
    else this.held.delete(key);
    return isTaken;
  }

  get keys(): string[] {
    return [...this.held.keys()].sort();
  }

  *#allHeld() {
    for (const [key, { text: fact, since }] of this.held)
      yield { key, owner: key.split("/")[0] ?? "", since, fact };
  }
}

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
      const characters = texts.held.values().reduce((sum, { text }) => sum + text.length, 0);
      assert.ok(characters <= 16);
    }
    // As after a restart, and after objects that fit now were listed again.
    const fresh = new Texts(6, 16);
    fresh.quota.begin();
    for (const [key, { text, since }] of present) fresh.put(key, text, since);
    fresh.quota.end();
    for (const quota of [fresh, texts])
      for (const [key, { text, since }] of present) quota.put(key, text, since);
    assert.deepEqual(texts.keys, fresh.keys);
    for (const key of present.keys())
      assert.equal(texts.quota.rejection(key), fresh.quota.rejection(key), key);
    for (const key of present.keys()) texts.put(key, undefined);
    for (const key of ["a/1", "b/1", "c/1"]) assert.ok(texts.put(key, "12"));
  }));
