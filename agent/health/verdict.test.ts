import assert from "node:assert/strict";
import { test } from "node:test";
import { Recurrence } from "./verdict.ts";

const group = (name: string, count: number) => {
  const members = Array.from({ length: count }, (_, i) => ({
    address: `10.2.${i >> 8}.${i & 255}`,
    port: 80,
  }));
  const terms = { recurrences: 0, hold: 0, expires: 10_000 };
  return { name, endpoints: new Map(), members, isPartial: false, terms };
};

const PROBED = { isPartial: false, isTrial: false };

test("verdicts on groups of many endpoints that end one after the other take bounded memory: the oldest are forgotten", () => {
  const past = new Recurrence();
  for (let i = 0; i < 300; i++) past.ended(group(`group ${i}`, 1_000), "answered", i);
  assert.equal(past.terms("group 0", PROBED, 300).recurrences, 0);
  assert.equal(past.terms("group 299", PROBED, 300).recurrences, 1);
});

test("a verdict that ends again and again is remembered once", () => {
  const past = new Recurrence();
  past.ended(group("other", 1), "answered", 0);
  for (let i = 0; i < 100; i++) past.ended(group("group", 1_000), "answered", i);
  assert.equal(past.terms("other", PROBED, 100).recurrences, 1);
  assert.equal(past.terms("group", PROBED, 100).recurrences, 100);
});

test("clients try all of a group again after forty seconds at most, however often they tried a part of it before", () => {
  const past = new Recurrence();
  const part = { isPartial: true, isTrial: true };
  for (let i = 0; i < 30; i++) {
    const terms = past.terms("group", part, i);
    past.ended({ ...group("group", 1), isPartial: true, terms }, "expired", i);
  }
  assert.equal(past.terms("group", part, 30).expires, 20_000);
  assert.equal(past.terms("group", { ...part, isPartial: false }, 30).expires, 40_000);
});
