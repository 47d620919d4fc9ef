import assert from "node:assert/strict";
import { test } from "node:test";
import { type Finding, failing, ok, unknown } from "../preflight/finding.ts";
import { findingTransitions } from "./finding-transitions.ts";

const ROUTE = { check: "route", family: "IPv4" } as const;
const BAD = failing(ROUTE, "no-route", "Add a route.");

function lines(previous: readonly Finding[], next: readonly Finding[]): string[] {
  return findingTransitions(previous, next).map(({ level, message }) => `${level} ${message}`);
}

test("a finding is logged once, with its reason and advice", () => {
  assert.deepEqual(findingTransitions([], [BAD]), [
    {
      level: "warn",
      message: "Preflight check failed",
      fields: { ...ROUTE, reason: "no-route", advice: "Add a route." },
    },
  ]);
  assert.deepEqual(lines([BAD], [BAD]), []);
  assert.deepEqual(lines([BAD], [{ ...BAD, advice: "Other numbers." }]), []);
});

test("a new reason is logged, and so is that the check passes again", () => {
  assert.deepEqual(lines([BAD], [failing(ROUTE, "wrong-source", "x")]), [
    "warn Preflight check failed",
  ]);
  assert.deepEqual(findingTransitions([BAD], [ok(ROUTE)]), [
    {
      level: "info",
      message: "Preflight check passes again",
      fields: { ...ROUTE, was: "no-route" },
    },
  ]);
  assert.deepEqual(lines([BAD], [unknown(ROUTE, "x")]), [
    "info Preflight check result became unknown",
  ]);
});

test("a check that passes from the start is not logged; one that did not run is logged for debugging", () => {
  assert.deepEqual(lines([], [ok(ROUTE)]), []);
  assert.deepEqual(lines([], [unknown(ROUTE, "x")]), ["debug Preflight check result is unknown"]);
  assert.deepEqual(lines([unknown(ROUTE, "x")], [ok(ROUTE)]), []);
  const suspected: Finding = { ...unknown(ROUTE, "x"), reason: "bypass-suspected" };
  assert.deepEqual(lines([], [suspected]), ["info Preflight check result is unknown"]);
});

test("families have findings of their own", () => {
  const six: Finding = { ...BAD, family: "IPv6" };
  assert.equal(findingTransitions([BAD], [BAD, six])[0]?.fields.family, "IPv6");
});
