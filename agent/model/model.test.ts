import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { importFact, sliceFact } from "../../test/generators/facts.ts";
import { Model } from "./model.ts";
import { nodeShare } from "./node-share.ts";

/** The keys that became dirty, by name, since the last look. */
function dirty(model: Model): string[] {
  return [...model.takeDirty().keys()].sort();
}

describe("dirty imports", () => {
  test("of 1,000 imports with 3 slices each, one slice event affects one import", () => {
    const model = new Model();
    for (let i = 0; i < 1000; i++) {
      model.setImport(importFact({ key: `demo/s${i}`, vips: [`241.0.${i >> 8}.${i & 255}`] }), 0);
      for (const cluster of ["c1", "c2", "c3"]) {
        model.setSlice(sliceFact({ key: `demo/s${i}-${cluster}`, importKey: `demo/s${i}` }), 0);
      }
    }
    assert.equal(dirty(model).length, 1000);
    model.setSlice(
      sliceFact({ key: "demo/s500-c2", importKey: "demo/s500", endpoints: ["10.2.0.9"] }),
      0,
    );
    assert.deepEqual(dirty(model), ["demo/s500"]);
    model.removeSlice("demo/s500-c2", 0);
    assert.deepEqual(dirty(model), ["demo/s500"]);
    model.setImport(importFact({ key: "demo/s500", vips: ["241.1.0.1"] }), 0);
    assert.deepEqual(dirty(model), ["demo/s500"]);
  });

  test("removing a missing object affects no import", () => {
    const model = new Model();
    model.removeImport("demo/a", 0);
    model.removeSlice("demo/a", 0);
    assert.deepEqual(dirty(model), []);
  });

  test("each key carries the time of its oldest change until it is taken", () => {
    const model = new Model();
    model.setImport(importFact({ key: "demo/a" }), 20);
    model.setSlice(sliceFact({ key: "demo/x", importKey: "demo/a" }), 10);
    model.setSlice(sliceFact({ key: "demo/y", importKey: "demo/b" }), 30);
    assert.deepEqual(
      model.takeDirty(),
      new Map([
        ["demo/a", 10],
        ["demo/b", 30],
      ]),
    );
    model.setSlice(sliceFact({ key: "demo/x", importKey: "demo/a" }), 40);
    assert.deepEqual(model.takeDirty(), new Map([["demo/a", 40]]));
  });
});

describe("a view", () => {
  test("names the holder of a VIP until the holder is removed or changes", () => {
    const model = new Model();
    model.listed();
    const first = importFact({ key: "demo/first", created: 2, vips: ["241.0.0.1"] });
    const second = importFact({ key: "demo/second", created: 1, vips: ["241.0.0.1", "241.0.0.2"] });
    model.setImport(first, 0);
    model.setImport(second, 0);
    assert.deepEqual(model.view("demo/second")?.heldBy, new Map([["241.0.0.1", "demo/first"]]));
    assert.deepEqual(model.view("demo/first")?.heldBy, new Map());
    model.setImport({ ...first, ports: [] }, 0);
    assert.deepEqual(model.view("demo/second")?.heldBy, new Map([["241.0.0.1", "demo/first"]]));
    model.setImport({ ...first, vips: [] }, 0);
    assert.deepEqual(model.view("demo/second")?.heldBy, new Map());
    model.setImport(first, 0);
    assert.deepEqual(model.view("demo/first")?.heldBy, new Map([["241.0.0.1", "demo/second"]]));
    model.removeImport("demo/second", 0);
    assert.deepEqual(model.view("demo/first")?.heldBy, new Map());
  });

  test("names the import of the IPAddress as the holder, and is planned again when that changes", () => {
    const model = new Model();
    model.listed();
    for (const key of ["demo/a", "demo/b"] as const) {
      model.setImport(importFact({ key, vips: ["241.0.0.1"] }), 0);
    }
    dirty(model);
    model.setHolder("241.0.0.1", "demo/b", 0);
    assert.deepEqual(dirty(model), ["demo/a", "demo/b"]);
    assert.deepEqual(model.view("demo/a")?.heldBy, new Map([["241.0.0.1", "demo/b"]]));
    model.setHolder("241.0.0.1", "demo/b", 0);
    assert.deepEqual(dirty(model), []);
  });

  test("of a key that another object inherits is empty", () => {
    const model = new Model();
    assert.equal(model.view("demo/constructor"), undefined);
    assert.equal(model.view("__proto__/__proto__"), undefined);
  });
});

test("what does not answer makes the imports of its endpoints and clusters dirty, and no others", () => {
  const model = new Model();
  for (const [name, cluster, address] of [
    ["a", "c2", "10.2.0.1"],
    ["b", "c3", "10.3.0.1"],
    ["c", "c4", "10.4.0.1"],
  ] as const) {
    const importKey = `demo/${name}` as const;
    model.setImport(importFact({ key: importKey }), 0);
    model.setSlice(sliceFact({ key: importKey, importKey, cluster, endpoints: [address] }), 0);
  }
  model.takeDirty();
  const dirty = () => [...model.takeDirty().keys()].sort();
  const endpoints = new Map([["10.2.0.1", new Set([8080])]]);
  model.setSilence({ endpoints, clusters: new Map([["c3", ""]]) }, 1);
  assert.deepEqual(dirty(), ["demo/a", "demo/b"]);
  model.setSilence(
    {
      endpoints,
      clusters: new Map([
        ["c3", ""],
        ["c4", ""],
      ]),
    },
    2,
  );
  assert.deepEqual(dirty(), ["demo/c"]);
  model.setSilence({ endpoints: new Map(), clusters: new Map([["c3", ""]]) }, 3);
  assert.deepEqual(dirty(), ["demo/a", "demo/c"]);
});

test("the shares of a hundred nodes are spread evenly over the window, whatever their names differ in", () => {
  for (const name of [
    (i: number) => `node-${i}`,
    (i: number) => `ip-10-0-${i >> 4}-${i & 15}.eu-west-1.compute.internal`,
    (i: number) => `pool-a-7f9c-${String(i).padStart(4, "0")}`,
    (i: number) => `${i}.nodes.example.com`,
  ]) {
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let i = 0; i < 100; i++) {
      const share = nodeShare(name(i));
      assert.ok(share >= 0 && share < 1);
      const tenth = Math.floor(share * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    // Ten each on average; by chance, a tenth has more than 20 or fewer than 2 nodes less than once in 100 such tables.
    assert.ok(
      Math.max(...tenths) <= 20 && Math.min(...tenths) >= 2,
      `${name(7)}: ${tenths.join()}`,
    );
  }
});
