import assert from "node:assert/strict";
import { test } from "node:test";
import { failing, unknown, type Verdict, well } from "../preflight/verdict.ts";
import { verdictTransitions } from "./verdict-transitions.ts";

const ROUTE = { check: "route", family: "IPv4" } as const;
const BAD = failing(ROUTE, "no-route", "Add a route.");

function lines(previous: readonly Verdict[], next: readonly Verdict[]): string[] {
  return verdictTransitions(previous, next).map(({ level, message }) => `${level} ${message}`);
}

test("what is found is told once, with its reason and what mends it", () => {
  assert.deepEqual(verdictTransitions([], [BAD]), [
    {
      level: "warn",
      message: "Preflight found something.",
      fields: { ...ROUTE, reason: "no-route", advice: "Add a route." },
    },
  ]);
  assert.deepEqual(lines([BAD], [BAD]), []);
  assert.deepEqual(lines([BAD], [{ ...BAD, advice: "Other numbers." }]), []);
});

test("another reason is news, and so is that it is gone", () => {
  assert.deepEqual(lines([BAD], [failing(ROUTE, "wrong-source", "x")]), [
    "warn Preflight found something.",
  ]);
  assert.deepEqual(verdictTransitions([BAD], [well(ROUTE)]), [
    {
      level: "info",
      message: "Preflight: it is well again.",
      fields: { ...ROUTE, was: "no-route" },
    },
  ]);
  assert.deepEqual(lines([BAD], [unknown(ROUTE, "x")]), [
    "info Preflight: it cannot be told any more.",
  ]);
});

test("what was well from the start is no news; what cannot be told is for those who look", () => {
  assert.deepEqual(lines([], [well(ROUTE)]), []);
  assert.deepEqual(lines([], [unknown(ROUTE, "x")]), ["debug Preflight cannot tell."]);
  assert.deepEqual(lines([unknown(ROUTE, "x")], [well(ROUTE)]), []);
  const suspected: Verdict = { ...unknown(ROUTE, "x"), reason: "bypass-suspected" };
  assert.deepEqual(lines([], [suspected]), ["info Preflight cannot tell."]);
});

test("families are told apart", () => {
  const six: Verdict = { ...BAD, family: "IPv6" };
  assert.equal(verdictTransitions([BAD], [BAD, six])[0]?.fields.family, "IPv6");
});
