import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import { importFact, nodeFact, sliceFact } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { planImport } from "../plan/plan.ts";
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
  test("the imports of a namespace share its limit: what one asks for takes nothing from one below an equal share, older or newer", () => {
    const budget = new RuleBudget({ ...LIMITS, maxRulesPerNamespace: 21 });
    budget.set("b/one", 9, 5, 1);
    budget.set("a/greedy", 0, 1_000_000, 1);
    budget.set("a/large", 1, 9, 1);
    budget.set("a/small", 2, 4, 1);
    assert.deepEqual(allowances(budget, "a/greedy", "a/large", "a/small", "b/one"), [
      "8 namespace-limit",
      "8 namespace-limit",
      "10 import-limit",
      "10 import-limit",
    ]);
    assert.deepEqual([...budget.takeChanged()].sort(), ["a/greedy", "a/large"]);
  });

  test("an import for which an equal share would be of no use has nothing, and the oldest have what they need", () => {
    const budget = new RuleBudget(LIMITS);
    for (const [i, key] of (["a/new", "a/middle", "a/old", "a/oldest"] as const).entries())
      budget.set(key, -i, 9, 5);
    assert.deepEqual(allowances(budget, "a/oldest", "a/old", "a/middle", "a/new"), [
      "5 namespace-limit",
      "5 namespace-limit",
      "5 namespace-limit",
      "0 namespace-limit",
    ]);
  });

  test("namespaces share the limit of the node: one that asks for less than an equal share keeps everything", () => {
    const budget = new RuleBudget(LIMITS);
    for (const [i, key] of (["a/one", "a/two", "b/one", "b/two"] as const).entries())
      budget.set(key, i, 9, 1);
    budget.set("shop/web", 9, 4, 1);
    assert.deepEqual(allowances(budget, "shop/web", "a/one", "a/two", "b/one", "b/two"), [
      "10 import-limit",
      "6 node-limit",
      "6 node-limit",
      "6 node-limit",
      "6 node-limit",
    ]);
    assert.deepEqual([...budget.takeChanged()].sort(), ["a/one", "a/two", "b/one", "b/two"]);
    budget.set("b/one", 2, 0, 0);
    assert.deepEqual([...budget.takeChanged()].sort(), ["a/one", "a/two", "b/one", "b/two"]);
    assert.deepEqual(allowances(budget, "a/one", "a/two", "b/two"), [
      "7 namespace-limit",
      "7 namespace-limit",
      "10 import-limit",
    ]);
  });

  const step = fc.record({
    namespace: fc.constantFrom("a", "b", "c"),
    name: fc.constantFrom("x", "y", "z"),
    created: fc.nat(3),
    cost: fc.nat(20),
    least: fc.integer({ min: 1, max: 6 }),
  });

  test("after any history they depend only on the imports, every change is reported, and no limit is exceeded in sum", () =>
    forAll([fc.array(step, { maxLength: 30 })], (steps) => {
      const budget = new RuleBudget(LIMITS);
      const now = new Map<ObjectKey, { created: number; cost: number; least: number }>();
      let before = new Map<ObjectKey, string | undefined>();
      for (const { namespace, name, created, cost, least } of steps) {
        const key: ObjectKey = `${namespace}/${name}`;
        budget.set(key, created, cost, least);
        if (cost === 0) now.delete(key);
        else now.set(key, { created, cost, least });
        const scratch = new RuleBudget(LIMITS);
        for (const [one, claim] of [...now].toReversed())
          scratch.set(one, claim.created, claim.cost, claim.least);
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
  test("plans an import again once another one of its namespace is deleted", () => {
    const model = new Model(undefined, { ...NO_LIMITS, maxRulesPerNamespace: 8 });
    const endpoints = ["10.1.0.1", "10.1.0.2", "10.1.0.3"];
    for (const [i, name] of ["old", "new"].entries()) {
      const key: ObjectKey = `demo/${name}`;
      model.setImport(importFact({ key, created: i, vips: [`241.0.0.${i}`] }), 0);
      model.setSlice(sliceFact({ key: `demo/${name}-x`, importKey: key, endpoints }), 0);
    }
    assert.deepEqual(model.view("demo/new")?.limit, { rules: 4, reason: "namespace-limit" });
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

  test("what a peer adds to some imports of a namespace cuts its own endpoints there, and nothing of other imports", () => {
    const ports = ["a", "b", "c"].map((name, i) => ({
      name,
      protocol: "TCP" as const,
      port: 80 + i,
    }));
    const model = new Model(undefined, { ...NO_LIMITS, maxRulesPerNamespace: 10_000 });
    const addresses = (cluster: number, i: number, count: number) =>
      Array.from({ length: count }, (_, n) => `10.${cluster}.${i * 8 + (n >> 8)}.${n & 255}`);
    const names = Array.from({ length: 6 }, (_, i): ObjectKey => `demo/s${i}`);
    for (const [i, key] of names.entries()) {
      model.setImport(importFact({ key, created: i, ports, vips: [`241.0.0.${i + 1}`] }), 0);
      const own = { importKey: key, ports, cluster: "c1", endpoints: addresses(1, i, 3) };
      model.setSlice(sliceFact({ ...own, key: `${key}-c1` }), 0);
      const peers = { ...own, cluster: "c9", endpoints: addresses(9, i, 2000) };
      if (i < 4) model.setSlice(sliceFact({ ...peers, key: `${key}-c9` }), 0);
    }
    for (const [i, key] of names.entries()) {
      const view = model.view(key);
      assert.ok(view);
      const { services, limited } = planImport(view, nodeFact());
      assert.deepEqual(
        services.map(({ tier, endpoints }) => `${tier} ${endpoints.length}`),
        ports.map(() => "local 3"),
      );
      assert.deepEqual(limited, i < 4 ? { reason: "namespace-limit", slices: 1 } : undefined);
    }
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
