import assert from "node:assert/strict";
import { test } from "node:test";
import type { SliceFact } from "../model/facts.ts";
import { type LimitedSlices, limitedSlices as limited } from "./limited-slices.ts";

const port = (name: string) => ({ name, protocol: "TCP", port: 80 }) as const;
const SERVICE = {
  families: ["IPv4"],
  headless: false,
  ports: [port("a"), port("b")],
  sessionAffinity: "ClientIP",
} as const;

function limitedSlices(published: readonly SliceFact[], rules = 1_000_000): LimitedSlices {
  return limited(published, SERVICE, rules);
}

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
  assert.deepEqual(
    problems.map(({ reason, value }) => `${reason} ${value}`),
    ["too-many-slices 401"],
  );
});

test("beyond its share of rules, the rest is left out: endpoints times ports, ten times with ClientIP", () => {
  const ports = [port("a"), port("b")];
  const all = slices(3, 10).map((slice) => ({ ...slice, ports }));
  assert.deepEqual(limitedSlices(all, 600), { slices: all, problems: [] });
  const { slices: left, problems } = limitedSlices(all, 475);
  assert.deepEqual(
    left.map(({ endpoints }) => endpoints.length),
    [10, 10, 3],
  );
  assert.deepEqual(
    problems.map(({ reason, value }) => `${reason} ${value}`),
    ["too-many-rules 600"],
  );
  assert.deepEqual(limitedSlices(all, 0).slices, []);
});
