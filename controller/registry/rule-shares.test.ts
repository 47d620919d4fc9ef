import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { type RuleFactors, ruleShares, rulesOf } from "./rule-shares.ts";

const port = (name: string) => ({ name, protocol: "TCP", port: 80 }) as const;
const SERVICE: RuleFactors = {
  families: ["IPv4"],
  headless: false,
  ports: [port("a"), port("b"), port("c")],
  sessionAffinity: "None",
};
const SLICE = {
  key: "clusterset-registry-c2/serve.demo.v4-0",
  service: "demo/serve",
  family: "IPv4",
  ports: [port("a"), port("b")],
  endpoints: Array.from({ length: 10 }, (_, i) => ({
    address: `10.2.0.${i}`,
    ready: true,
    serving: true,
    terminating: false,
  })),
} as const;

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

test("a cluster with too many takes nothing from the others up to an equal share", () => {
  assert.deepEqual(ruleShares([10, 1_000_000, 30], 100), [10, 60, 30]);
  assert.deepEqual(ruleShares([50, 1_000_000, 30], 100), [35, 35, 30]);
  assert.deepEqual(ruleShares([20, 30], 100), [20, 30]);
  assert.deepEqual(ruleShares([], 100), []);
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
