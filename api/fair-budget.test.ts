import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../test/generators/for-all.ts";
import { FairBudget, levelOf } from "./fair-budget.ts";

interface Claim {
  readonly key: string;
  readonly owner: string;
  readonly since: number;
  readonly cost: number;
  readonly isDivisible: boolean;
}

const claims = fc.uniqueArray(
  fc.record({
    key: fc.string({ minLength: 1, maxLength: 4 }),
    owner: fc.constantFrom("shop", "greedy", "small", "other"),
    since: fc.nat(5),
    cost: fc.integer({ min: 1, max: 40 }),
    isDivisible: fc.boolean(),
  }),
  { selector: ({ key }) => key, maxLength: 30 },
);

/** Objects that cannot be divided, of many owners. */
const crowd = fc.uniqueArray(
  fc.record({
    key: fc.string({ minLength: 1, maxLength: 4 }),
    owner: fc.integer({ min: 1, max: 60 }).map(String),
    since: fc.nat(5),
    cost: fc.integer({ min: 1, max: 12 }),
    isDivisible: fc.constant(false),
  }),
  { selector: ({ key }) => key, maxLength: 60 },
);

function budgetOf(all: readonly Claim[], most: number): FairBudget<string> {
  const budget = new FairBudget<string>(most);
  for (const claim of all) set(budget, claim);
  return budget;
}

function set(budget: FairBudget<string>, { key, owner, since, cost, isDivisible }: Claim): void {
  budget.set(key, owner, since, cost, isDivisible ? 1 : cost);
}

function granted(budget: FairBudget<string>, all: readonly Claim[]): Map<string, number> {
  return new Map(all.map(({ key, cost }) => [key, budget.restricted(key)?.grant ?? cost]));
}

function byOwner(all: readonly Claim[], weigh: (claim: Claim) => number): Map<string, number> {
  const sums = new Map<string, number>();
  for (const claim of all) sums.set(claim.owner, (sums.get(claim.owner) ?? 0) + weigh(claim));
  return sums;
}

test("an owner below an equal share gets all that it asks for, and no other gets more than one that is cut", () =>
  forAll([claims, fc.integer({ min: 1, max: 200 })], (all, most) => {
    const grants = granted(budgetOf(all, most), all);
    const asked = byOwner(all, ({ cost }) => cost);
    const largest = Math.max(...all.map(({ cost, isDivisible }) => (isDivisible ? 1 : cost)), 1);
    const got = byOwner(all, ({ key }) => grants.get(key) ?? 0);
    assert.ok([...got.values()].reduce((sum, one) => sum + one, 0) <= most);
    const equal = Math.floor(most / Math.max(1, asked.size));
    for (const [owner, cost] of asked) {
      if (cost <= equal) assert.equal(got.get(owner), cost, owner);
      if ((got.get(owner) ?? 0) === cost) continue;
      for (const other of got.values()) assert.ok(other <= (got.get(owner) ?? 0) + 2 * largest);
    }
  }));

test("what cannot be divided leaves less room than the largest object has, however many owners there are", () =>
  forAll([crowd, fc.integer({ min: 1, max: 200 })], (all, most) => {
    const grants = granted(budgetOf(all, most), all);
    const got = all.reduce((sum, { key }) => sum + (grants.get(key) ?? 0), 0);
    const largest = Math.max(0, ...all.map(({ cost }) => cost));
    assert.ok(got <= most);
    if (all.some(({ key, cost }) => grants.get(key) !== cost)) assert.ok(got > most - largest);
  }));

test("an owner keeps its only object of equal ones, however many newer owners appear", () =>
  forAll([fc.integer({ min: 1, max: 9 }), fc.nat(20), fc.nat(20)], (cost, older, newer) => {
    const most = 10 * cost;
    const one = (i: number) => ({
      key: `${i}`,
      owner: `n${i}`,
      since: i,
      cost,
      isDivisible: false,
    });
    const early = Array.from({ length: older }, (_, i) => one(i));
    const late = Array.from({ length: newer }, (_, i) => one(older + i));
    const budget = budgetOf(early, most);
    const held = early.filter(({ key }) => budget.restricted(key) === undefined);
    for (const claim of late) set(budget, claim);
    assert.equal(held.length, Math.min(10, older));
    for (const { key } of held) assert.equal(budget.restricted(key), undefined, key);
  }));

test("ten thousand namespaces keep their records when one more appears", () => {
  const budget = new FairBudget<string>(10_000);
  for (let i = 0; i <= 10_000; i++) budget.set(`${i}`, `n${i}`, i, 1);
  const rejected = Array.from({ length: 10_001 }, (_, i) => `${i}`).filter(
    (key) => budget.restricted(key) !== undefined,
  );
  assert.deepEqual(rejected, ["10000"]);
});

test("the result does not depend on the order in which objects appear, nor on what was there before", () =>
  forAll([claims, claims, fc.nat(), fc.integer({ min: 1, max: 200 })], (all, gone, seed, most) => {
    const shuffled = all.toSorted((a, b) => hash(a.key, seed) - hash(b.key, seed));
    const budget = budgetOf(gone, most);
    budget.takeChanged();
    for (const { key } of gone) budget.set(key, "shop", 0, 0);
    for (const claim of shuffled) set(budget, claim);
    assert.deepEqual(granted(budget, all), granted(budgetOf(all, most), all));
  }));

test("every change of what an object gets is reported", () =>
  forAll(
    [fc.array(fc.tuple(claims, fc.nat(100)), { maxLength: 4 }), fc.boolean()],
    (rounds, isCoarse) => {
      const budget = new FairBudget<string>(100, { isCoarse });
      let before = new Map<string, number | undefined>();
      const keys = new Set(rounds.flatMap(([round]) => round).map(({ key }) => key));
      for (const [round, most] of rounds) {
        const touched = new Set(round.map(({ key }) => key));
        for (const claim of round) set(budget, claim);
        budget.limit(most);
        const changed = budget.takeChanged();
        const after = new Map([...keys].map((key) => [key, budget.restricted(key)?.grant]));
        for (const [key, was] of before)
          if (!touched.has(key) && !changed.has(key)) assert.equal(after.get(key), was, key);
        before = after;
      }
    },
  ));

test("within an owner, the oldest objects get what they ask for", () => {
  const budget = new FairBudget<string>(10);
  for (const [i, key] of ["old", "middle", "new"].entries()) budget.set(key, "greedy", i, 4, 1);
  budget.set("web", "shop", 9, 1);
  assert.deepEqual(budget.restricted("new"), { grant: 1 });
  for (const key of ["old", "middle", "web"]) assert.equal(budget.restricted(key), undefined);
});

test("a coarse share is at most 3 % less, and rarely changes with what others ask for", () => {
  const budget = new FairBudget<string>(100_000, { isCoarse: true });
  for (const key of ["a", "b", "c", "d", "e"]) budget.set(key, key, 0, 25_000, 1);
  const grants = new Set<number>();
  for (let cost = 3; cost < 300; cost += 3) {
    budget.set("small", "small", 9, cost, 1);
    assert.equal(budget.restricted("small"), undefined);
    const { grant = 0 } = budget.restricted("a") ?? {};
    assert.ok(grant > 0.97 * ((100_000 - cost) / 5) && grant <= (100_000 - cost) / 5);
    grants.add(grant);
  }
  assert.ok(grants.size <= 2);
});

test("shares of a limit", () => {
  assert.equal(levelOf([], 10), Number.POSITIVE_INFINITY);
  assert.equal(levelOf([3, 7], 10), Number.POSITIVE_INFINITY);
  assert.equal(levelOf([1, 100], 10), 9);
  assert.equal(levelOf([100, 100, 2], 10), 4);
});

function hash(text: string, seed: number): number {
  let value = seed;
  for (const character of text) value = (value * 31 + (character.codePointAt(0) ?? 0)) % 65_521;
  return value;
}
