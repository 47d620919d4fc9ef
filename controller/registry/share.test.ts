import assert from "node:assert/strict";
import { test } from "node:test";
import type { SliceFact } from "../model/facts.ts";
import { shareOf } from "./share.ts";

function slices(count: number, endpoints: number): SliceFact[] {
  return Array.from({ length: count }, (_, i) => ({
    key: `clusterset-registry-c2/serve.demo.v4-${String(i).padStart(4, "0")}` as const,
    service: "demo/serve" as const,
    family: "IPv4" as const,
    ports: [],
    endpoints: Array.from({ length: endpoints }, (_, n) => ({
      address: `10.${i >> 8}.${i & 255}.${n & 255}`,
      ready: true,
      serving: true,
      terminating: false,
    })),
  }));
}

function count(share: readonly SliceFact[]): number {
  return share.reduce((sum, { endpoints }) => sum + endpoints.length, 0);
}

test("what keeps to the limits is taken whole", () => {
  const all = slices(100, 100);
  assert.deepEqual(shareOf(all.toReversed()), { slices: all, problems: [] });
  assert.deepEqual(shareOf([]), { slices: [], problems: [] });
});

test("beyond 10,000 endpoints, the rest is left out", () => {
  const { slices: left, problems } = shareOf(slices(15, 900));
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
  const { slices: left, problems } = shareOf(slices(401, 1));
  assert.equal(left.length, 400);
  assert.deepEqual(
    problems.map(({ reason, value }) => `${reason} ${value}`),
    ["too-many-slices 401"],
  );
});
