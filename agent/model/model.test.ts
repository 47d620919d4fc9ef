import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cidr, importFact, sliceFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { nodeShare } from "../sync/node-shifts.ts";
import { Model } from "./model.ts";

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

  test("is undefined after the last fact is removed", () => {
    const model = new Model();
    model.setImport(importFact({ key: "demo/a" }), 0);
    model.setSlice(sliceFact({ key: "demo/x", importKey: "demo/a" }), 0);
    model.removeImport("demo/a", 0);
    assert.deepEqual([...model.keys()], ["demo/a"]);
    model.removeSlice("demo/x", 0);
    assert.deepEqual([...model.keys()], []);
    assert.equal(model.view("demo/a"), undefined);
  });

  test("of a headless import: it claims no VIP, and releases those that it had", () => {
    const model = new Model();
    const first = importFact({ key: "demo/first", created: 1, vips: ["241.0.0.1"] });
    model.listed();
    model.setImport(first, 0);
    model.setImport(importFact({ key: "demo/second", created: 2, vips: ["241.0.0.1"] }), 0);
    dirty(model);
    model.setImport({ ...first, headless: true }, 0);
    assert.deepEqual(dirty(model), ["demo/first", "demo/second"]);
    assert.deepEqual(model.view("demo/second")?.heldBy, new Map());
    model.setImport(first, 0);
    assert.deepEqual(model.view("demo/first")?.heldBy, new Map([["241.0.0.1", "demo/second"]]));
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
  const endpoints = new Map([["10.2.0.1", new Map([[8080, "shown"] as const])]]);
  const held = new Set<string>();
  const c3 = new Map([["c3", ""]]);
  model.setSilence({ endpoints, clusters: c3, held }, 1);
  assert.deepEqual(dirty(), ["demo/a", "demo/b"]);
  model.setSilence({ endpoints, clusters: c3, held: new Set(["c3"]) }, 1);
  assert.deepEqual(dirty(), ["demo/b"]);
  const both = new Map([...c3, ["c4", ""]]);
  model.setSilence({ endpoints, clusters: both, held: new Set(["c3"]) }, 2);
  assert.deepEqual(dirty(), ["demo/c"]);
  const suspected = new Map([["10.2.0.1", new Map([[8080, "suspected"] as const])]]);
  model.setSilence({ endpoints: suspected, clusters: c3, held: new Set(["c3"]) }, 3);
  assert.deepEqual(dirty(), ["demo/a", "demo/c"]);
  model.setSilence({ endpoints: new Map(), clusters: c3, held: new Set(["c3"]) }, 4);
  assert.deepEqual(dirty(), ["demo/a"]);
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

const VIPS = ["198.51.100.1", "198.51.100.2", "198.51.100.3"];
const KEYS = ["demo/a", "demo/b"] as const;

/** A model in which no VIP but those in 241.0.0.0/8 may be an endpoint's address. */
function watching(): Model {
  return new Model([cidr("241.0.0.0/8")]);
}

function listed(model: Model, key: (typeof KEYS)[number]): string[] {
  return [...(model.view(key)?.listed ?? [])];
}

describe("VIPs that a slice lists as an endpoint's address", () => {
  test("do not count in a slice of another namespace", () => {
    const model = watching();
    model.setImport(importFact({ key: "demo/a", vips: ["198.51.100.1"] }), 0);
    model.setImport(importFact({ key: "evil/a", vips: ["198.51.100.1"] }), 0);
    assert.deepEqual(listed(model, "demo/a"), []);
    model.takeDirty();
    const slice = sliceFact({ key: "evil/x", importKey: "evil/b", endpoints: ["198.51.100.1"] });
    model.setSlice(slice, 0);
    assert.deepEqual([...model.takeDirty().keys()].sort(), ["evil/a", "evil/b"]);
    assert.deepEqual(listed(model, "demo/a"), []);
    assert.deepEqual([...(model.view("evil/a")?.listed ?? [])], ["198.51.100.1"]);
    model.removeImport("evil/a", 0);
    model.setSlice({ ...slice, key: "demo/x" }, 0);
    assert.deepEqual(listed(model, "demo/a"), ["198.51.100.1"]);
  });

  test("cost nothing if no VIP is relevant", () => {
    const model = new Model();
    model.setSlice(sliceFact({ importKey: "demo/b", endpoints: ["198.51.100.1"] }), 0);
    model.setImport(importFact({ key: "demo/a", vips: ["198.51.100.1"] }), 0);
    assert.equal(model.view("demo/a")?.listed, undefined);
  });

  const vips = fc.uniqueArray(fc.constantFrom(...VIPS, "241.0.0.1"), { maxLength: 3 });
  const event = fc.oneof(
    fc.record({ kind: fc.constant("import"), key: fc.constantFrom(...KEYS), vips }),
    fc.record({ kind: fc.constant("no-import"), key: fc.constantFrom(...KEYS) }),
    fc.record({
      kind: fc.constant("slice"),
      slice: fc.constantFrom("demo/x", "demo/y"),
      endpoints: fc.uniqueArray(fc.constantFrom(...VIPS, "10.1.0.1"), { maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant("no-slice"), slice: fc.constantFrom("demo/x", "demo/y") }),
    fc.record({ kind: fc.constant("look") }),
  );

  test("after any history, they equal those of a new model in the same state; imports that are not dirty have not changed", () =>
    forAll([fc.array(event, { maxLength: 20 })], (events) => {
      const model = watching();
      const imports = new Map<(typeof KEYS)[number], readonly string[]>();
      const slices = new Map<`demo/${string}`, readonly string[]>();
      let told = new Map<string, string[]>();
      const look = (one: Model) => new Map(KEYS.map((key) => [key, listed(one, key)]));
      for (const step of events) {
        if (step.kind === "import" && "vips" in step) {
          imports.set(step.key, step.vips);
          model.setImport(importFact({ key: step.key, vips: step.vips }), 0);
        } else if (step.kind === "no-import" && "key" in step) {
          imports.delete(step.key);
          model.removeImport(step.key, 0);
        } else if (step.kind === "slice" && "endpoints" in step) {
          const key = step.slice as `demo/${string}`;
          slices.set(key, step.endpoints);
          const { endpoints } = step;
          model.setSlice(sliceFact({ key, importKey: "demo/a", endpoints }), 0);
        } else if (step.kind === "no-slice" && "slice" in step) {
          slices.delete(step.slice as `demo/${string}`);
          model.removeSlice(step.slice as `demo/${string}`, 0);
        } else {
          const dirty = new Set<string>(model.takeDirty().keys());
          const now = look(model);
          for (const [key, was] of told) {
            if (!dirty.has(key)) assert.deepEqual(now.get(key as (typeof KEYS)[number]), was, key);
          }
          told = now;
        }
      }
      const scratch = watching();
      for (const [key, list] of imports) scratch.setImport(importFact({ key, vips: list }), 0);
      for (const [key, endpoints] of slices)
        scratch.setSlice(sliceFact({ key, importKey: "demo/a", endpoints }), 0);
      assert.deepEqual(look(model), look(scratch));
    }));
});
