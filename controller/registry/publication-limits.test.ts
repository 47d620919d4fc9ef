import assert from "node:assert/strict";
import { test } from "node:test";
import { type ObjectKey, objectKey } from "../../api/names.ts";
import type { SliceFact } from "../model/facts.ts";
import { MOST_RECORDS } from "../model/limits.ts";
import { PublicationLimits } from "./publication-limits.ts";

/** Slices of 100 endpoints with one port. */
function slicesOf(service: ObjectKey, count: number): SliceFact[] {
  const ports = [{ name: "http", protocol: "TCP", port: 80 }] as const;
  return Array.from({ length: count }, (_, i) => ({
    ...{ key: objectKey("registry", `${i}`), service, family: "IPv4", ports },
    endpoints: Array.from({ length: 100 }, (_, n) => ({
      ...{ address: `10.1.${i}.${n}`, ready: true, serving: true, terminating: false },
    })),
  }));
}

const EMPTY = { record: { metadata: { labels: {}, annotations: {} } }, slices: [] };

test("10,000 exports of a tenant leave room for those of others, which are younger", () => {
  const limits = new PublicationLimits(1_000_000);
  for (let i = 0; i < MOST_RECORDS; i++) limits.set(`greedy/n${i}`, i, EMPTY);
  assert.equal(limits.admit(`greedy/n${MOST_RECORDS - 1}`, []).withheld, undefined);
  limits.takeChanged();
  limits.set("shop/web", MOST_RECORDS, EMPTY);
  assert.equal(limits.admit("shop/web", []).withheld, undefined);
  assert.deepEqual([...limits.takeChanged()], [`greedy/n${MOST_RECORDS - 1}`]);
  assert.equal(limits.admit(`greedy/n${MOST_RECORDS - 1}`, []).withheld, "too-many-records");
});

test("long annotations of a tenant take nothing from others, and its own oldest exports stay", () => {
  const limits = new PublicationLimits(1_000_000);
  const annotations = { "example.com/text": "x".repeat(32_000) };
  const long = { record: { metadata: { labels: {}, annotations } }, slices: [] };
  for (let i = 0; i < 600; i++) limits.set(`greedy/n${i}`, i, long);
  limits.set("shop/web", 9999, long);
  assert.equal(limits.admit("shop/web", []).withheld, undefined);
  assert.equal(limits.admit("greedy/n0", []).withheld, undefined);
  assert.equal(limits.admit("greedy/n599", []).withheld, "too-many-keys");
});

test("of an export beyond its namespace's share, the first endpoints are published", () => {
  const limits = new PublicationLimits(450);
  const greedy = slicesOf("greedy/all", 9);
  const web = slicesOf("shop/web", 1);
  limits.set("greedy/all", 1, { ...EMPTY, slices: greedy });
  limits.set("shop/web", 2, { ...EMPTY, slices: web });
  assert.deepEqual(limits.admit("shop/web", web), { slices: web });
  const { slices, leftOut } = limits.admit("greedy/all", greedy);
  assert.deepEqual(
    slices.map(({ endpoints }) => endpoints.length),
    [100, 100, 100, 50],
  );
  assert.deepEqual(leftOut, ["too-many-rules"]);
});
