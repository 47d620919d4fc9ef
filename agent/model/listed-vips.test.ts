import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { cidr, importFact, sliceFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { Model } from "./model.ts";

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
