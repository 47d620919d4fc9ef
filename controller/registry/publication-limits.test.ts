import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import { forAll } from "../../test/generators/for-all.ts";
import type { SliceFact } from "../model/facts.ts";
import {
  MOST_RECORDS,
  MOST_REGISTRY_ENDPOINTS,
  MOST_REGISTRY_PORTS,
  MOST_REGISTRY_SLICES,
} from "../model/limits.ts";
import { type LimitedSlices, limitedSlices as limited } from "./limited-slices.ts";
import { PublicationLimits } from "./publication-limits.ts";
import { type RuleFactors, ruleShares, rulesOf } from "./rule-shares.ts";

const port = (name: string) => ({ name, protocol: "TCP", port: 80 }) as const;
const LIMITED = {
  families: ["IPv4"],
  headless: false,
  ports: [port("a"), port("b")],
  sessionAffinity: "ClientIP",
} as const;

function limitedSlices(published: readonly SliceFact[], rules = 1_000_000): LimitedSlices {
  return limited(published, LIMITED, rules);
}

function slices(count: number, endpoints: number, ports: SliceFact["ports"] = []): SliceFact[] {
  return Array.from({ length: count }, (_, i) => ({
    key: `clusterset-registry-c2/serve.demo.v4-${String(i).padStart(4, "0")}` as const,
    ...{ service: "demo/serve", family: "IPv4", ports },
    endpoints: Array.from({ length: endpoints }, (_, n) => ({
      address: `10.${i >> 8}.${i & 255}.${n & 255}`,
      ...{ ready: true, serving: true, terminating: false },
    })),
  }));
}

function count(share: readonly SliceFact[]): number {
  return share.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
}

test("slices within the limits are complete", () => {
  const all = slices(100, 100);
  assert.deepEqual(limitedSlices(all.toReversed()), { slices: all, problems: [] });
  assert.deepEqual(limitedSlices([]), { slices: [], problems: [] });
});

test("beyond 10,000 endpoints, the rest is left out", () => {
  const { slices: left, problems } = limitedSlices(slices(15, 900));
  assert.equal(count(left), 10_000);
  assert.deepEqual(problems, [
    {
      reason: "too-many-endpoints",
      object: "ServiceImport clusterset-registry-c2/serve.demo",
      field: "slices",
      value: "13500",
    },
  ]);
});

test("beyond 400 slices, the rest is left out", () => {
  const { slices: left, problems } = limitedSlices(slices(401, 1));
  assert.equal(left.length, 400);
  const told = problems.map(({ reason, value }) => `${reason} ${value}`);
  assert.deepEqual(told, ["too-many-slices 401"]);
});

test("beyond its share of rules, the rest is left out: endpoints times ports, ten times with ClientIP", () => {
  const all = slices(3, 10, [port("a"), port("b")]);
  assert.deepEqual(limitedSlices(all, 600), { slices: all, problems: [] });
  const { slices: left, problems } = limitedSlices(all, 475);
  const counts = left.map(({ endpoints }) => endpoints.length);
  assert.deepEqual(counts, [10, 10, 3]);
  const told = problems.map(({ reason, value }) => `${reason} ${value}`);
  assert.deepEqual(told, ["too-many-rules 600"]);
  assert.deepEqual(limitedSlices(all, 0).slices, []);
});

const SERVICE: RuleFactors = {
  families: ["IPv4"],
  headless: false,
  ports: [port("a"), port("b"), port("c")],
  sessionAffinity: "None",
};
const [SLICE = assert.fail()] = slices(1, 10, [port("a"), port("b")]);

test("endpoints count once for each port that slice and service have, and ten times with ClientIP", () => {
  assert.equal(rulesOf([SLICE, SLICE], SERVICE), 40);
  assert.equal(rulesOf([SLICE], { ...SERVICE, sessionAffinity: "ClientIP" }), 200);
  assert.equal(rulesOf([SLICE], { ...SERVICE, ports: [port("a")] }), 10);
});

test("both families count; headless services and families that are not imported cost nothing", () => {
  const six = { ...SLICE, family: "IPv6" } as const;
  assert.equal(rulesOf([SLICE, six], { ...SERVICE, families: ["IPv4", "IPv6"] }), 40);
  assert.equal(rulesOf([SLICE, six], SERVICE), 20);
  assert.equal(rulesOf([SLICE], { ...SERVICE, headless: true }), 0);
});

test("shares never exceed the limit or the cost, and every cluster gets its cost or an equal share", async () => {
  const costs = fc.array(fc.nat(1000), { maxLength: 8 });
  await forAll([costs, fc.nat(3000)], (all, most) => {
    const shares = ruleShares(all, most);
    assert.ok(shares.reduce((sum, share) => sum + share, 0) <= most);
    for (const [i, share] of shares.entries()) {
      const cost = all[i] ?? 0;
      assert.ok(share <= cost && share >= Math.min(cost, Math.floor(most / all.length)));
    }
  });
});

const EMPTY = { record: { metadata: { labels: {}, annotations: {} } }, slices: [] };

test("of an export beyond its namespace's share, the first endpoints are published", () => {
  const limits = new PublicationLimits(450);
  const greedy = slices(9, 100, [port("http")]);
  const web = slices(1, 100, [port("http")]);
  limits.set("greedy/all", 1, { ...EMPTY, slices: greedy });
  limits.set("shop/web", 2, { ...EMPTY, slices: web });
  assert.deepEqual(limits.admit("shop/web", web), { slices: web });
  const { slices: left, leftOut } = limits.admit("greedy/all", greedy);
  const sizes = left.map(({ endpoints }) => endpoints.length);
  assert.deepEqual([sizes, leftOut], [[100, 100, 100, 50], ["too-many-rules"]]);
});

/** How many exports with which annotation fill a limit of a registry; the reason of the last one. */
const FULL = [
  [MOST_RECORDS, "", "too-many-records"],
  [600, "x".repeat(32_000), "too-many-keys"],
] as const;

for (const [count, text, reason] of FULL) {
  test(`${reason}: a tenant whose exports fill this limit of a registry takes nothing from others, and its oldest ones stay`, () => {
    const limits = new PublicationLimits(1_000_000);
    const annotations = { "example.com/text": text };
    const exported = { record: { metadata: { labels: {}, annotations } }, slices: [] };
    for (let i = 0; i < count; i++) limits.set(`greedy/n${i}`, i, exported);
    limits.set("shop/web", count, exported);
    const withheld = (key: ObjectKey) => limits.admit(key, []).withheld;
    assert.deepEqual([withheld("shop/web"), withheld("greedy/n0")], [undefined, undefined]);
    assert.equal(withheld(`greedy/n${count - 1}`), reason);
    assert.ok(limits.takeChanged().has(`greedy/n${count - 1}`));
  });
}

// A tenant publishes as many slices of this size as a limit of `model/limits.ts` admits.
for (const [reason, endpoints, ports, most] of [
  ["too-many-slices", 1, 1, MOST_REGISTRY_SLICES],
  ["too-many-endpoints", 1_000, 1, MOST_REGISTRY_ENDPOINTS / 1_000],
  ["too-many-ports", 1, 100, MOST_REGISTRY_PORTS / 100],
] as const) {
  test(`${reason}: a tenant that fills this limit of a registry takes nothing from others`, () => {
    const limits = new PublicationLimits(100_000_000);
    const named = Array.from({ length: ports }, (_, i) => port(`p${i}`));
    const [slice = assert.fail()] = slices(1, endpoints, named);
    const greedy = Array.from({ length: most }, () => slice);
    limits.set("greedy/all", 1, { ...EMPTY, slices: greedy });
    assert.equal(limits.admit("greedy/all", greedy).leftOut, undefined);
    limits.set("shop/web", 2, { ...EMPTY, slices: [slice] });
    assert.deepEqual(limits.admit("shop/web", [slice]), { slices: [slice] });
    const { slices: left, leftOut } = limits.admit("greedy/all", greedy);
    assert.deepEqual([left.length, leftOut], [most - 1, [reason]]);
  });
}
