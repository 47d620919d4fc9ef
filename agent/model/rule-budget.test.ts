import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import { importFact, sliceFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { Model } from "./model.ts";
import { NO_LIMITS, RuleBudget } from "./rule-budget.ts";

const LIMITS = { maxRulesPerImport: 10, maxRulesPerNamespace: 15, maxRules: 30 };

/** `rules reason` of each import. */
function allowances(budget: RuleBudget, ...keys: readonly ObjectKey[]): string[] {
  return keys.map((key) => {
    const { rules, reason } = budget.allowance(key);
    return `${rules} ${reason}`;
  });
}

describe("what imports may cost", () => {
  test("over the limit of a namespace, its oldest imports keep theirs, and other namespaces everything", () => {
    const budget = new RuleBudget(LIMITS);
    budget.set("b/one", 9, 10);
    budget.set("a/old", 1, 10);
    budget.set("a/older", 0, 3);
    budget.set("a/new", 2, 1_000_000);
    assert.deepEqual(allowances(budget, "a/older", "a/old", "a/new", "b/one"), [
      "10 import-limit",
      "10 import-limit",
      "2 namespace-limit",
      "10 import-limit",
    ]);
    assert.deepEqual([...budget.takeChanged()], ["a/new"]);
  });

  test("namespaces share the limit of the node: one that asks for less than an equal share keeps everything", () => {
    const budget = new RuleBudget(LIMITS);
    for (const [i, key] of (["a/one", "a/two", "b/one", "b/two"] as const).entries())
      budget.set(key, i, 9);
    budget.set("shop/web", 9, 4);
    assert.deepEqual(allowances(budget, "shop/web", "a/one", "a/two", "b/one", "b/two"), [
      "10 import-limit",
      "10 import-limit",
      "4 node-limit",
      "10 import-limit",
      "4 node-limit",
    ]);
    assert.deepEqual([...budget.takeChanged()].sort(), ["a/two", "b/two"]);
    budget.set("b/one", 2, 0);
    assert.deepEqual([...budget.takeChanged()].sort(), ["a/two", "b/two"]);
    assert.deepEqual(allowances(budget, "a/two", "b/two"), [
      "6 namespace-limit",
      "10 import-limit",
    ]);
  });

  const step = fc.record({
    namespace: fc.constantFrom("a", "b", "c"),
    name: fc.constantFrom("x", "y", "z"),
    created: fc.nat(3),
    cost: fc.nat(20),
  });

  test("after any history they depend only on the imports, every change is reported, and no limit is exceeded in sum", () =>
    forAll([fc.array(step, { maxLength: 30 })], (steps) => {
      const budget = new RuleBudget(LIMITS);
      const now = new Map<ObjectKey, { created: number; cost: number }>();
      let before = new Map<ObjectKey, string | undefined>();
      for (const { namespace, name, created, cost } of steps) {
        const key: ObjectKey = `${namespace}/${name}`;
        budget.set(key, created, cost);
        if (cost === 0) now.delete(key);
        else now.set(key, { created, cost });
        const scratch = new RuleBudget(LIMITS);
        for (const [one, claim] of now) scratch.set(one, claim.created, claim.cost);
        const keys = [...now.keys()];
        assert.deepEqual(allowances(budget, ...keys), allowances(scratch, ...keys));
        const sum = (namespace: string) =>
          [...now]
            .filter(([one]) => one.startsWith(namespace))
            .reduce((all, [one, { cost }]) => all + Math.min(cost, budget.allowance(one).rules), 0);
        assert.ok(sum("") <= LIMITS.maxRules);
        assert.ok(["a/", "b/", "c/"].every((one) => sum(one) <= LIMITS.maxRulesPerNamespace));
        const changed = budget.takeChanged();
        const after = new Map(keys.map((one) => [one, allowances(budget, one)[0]]));
        for (const [one, was] of before) {
          if (one !== key && !changed.has(one)) assert.equal(after.get(one), was, one);
        }
        before = after;
      }
    }));
});

describe("a model with limits", () => {
  test("plans a newer import again once an older one of its namespace is deleted", () => {
    const model = new Model(undefined, { ...NO_LIMITS, maxRulesPerNamespace: 8 });
    const endpoints = ["10.1.0.1", "10.1.0.2", "10.1.0.3"];
    for (const [i, name] of ["old", "new"].entries()) {
      const key: ObjectKey = `demo/${name}`;
      model.setImport(importFact({ key, created: i, vips: [`241.0.0.${i}`] }), 0);
      model.setSlice(sliceFact({ key: `demo/${name}-x`, importKey: key, endpoints }), 0);
    }
    assert.deepEqual(model.view("demo/new")?.limit, { rules: 3, reason: "namespace-limit" });
    model.takeDirty();
    model.removeImport("demo/old", 7);
    assert.deepEqual(
      [...model.takeDirty()],
      [
        ["demo/old", 7],
        ["demo/new", 7],
      ],
    );
    assert.equal(model.view("demo/new")?.limit, undefined);
  });

  test("counts each object once, in any order of arrival and removal", () => {
    const limits = { ...NO_LIMITS, maxRulesPerNamespace: 1 };
    const fact = importFact({ created: 1 });
    const slice = sliceFact({ endpoints: ["10.1.0.1"] });
    const one = new Model(undefined, limits);
    one.setSlice(slice, 0);
    one.setImport(fact, 0);
    one.setImport({ ...fact, created: 2 }, 0);
    one.setSlice(slice, 0);
    one.removeImport(fact.key, 0);
    one.removeSlice(slice.key, 0);
    // Over its limit by nothing but itself: any rest of the first import would leave it less.
    one.setImport(importFact({ key: "demo/other" }), 0);
    assert.equal(one.view("demo/other")?.limit, undefined);
  });
});
