import assert from "node:assert/strict";
import { test } from "node:test";
import { type Attempt, parseAttempt } from "../test/connections/connections.ts";
import { costOf, hasSettled, judge } from "./verdict.ts";

const at = (begun: number, place: string, ms = 1): Attempt => {
  const [answer, error] = place.includes("/") ? [place, undefined] : [undefined, place];
  return { begun, ended: begun + ms, answer, error };
};

test("A failover is measured from the change to the first response of the new server and the last of the old one", () => {
  const attempts = [at(90, "c1/a"), at(101, "c1/a", 4), at(110, "c2/a", 2), at(120, "c2/a", 7)];
  assert.deepEqual(judge(attempts, 100, "c2"), {
    attempts: 4,
    failures: {},
    cut: 0,
    firstNew: 12,
    lastOld: 5,
    slowest: 7,
  });
});

test("Failed attempts are counted by their results, before and after the change", () => {
  const attempts = [at(90, "timeout"), at(101, "reset"), at(102, "reset"), at(103, "c2/a")];
  assert.deepEqual(judge(attempts, 100, "c2").failures, { timeout: 1, reset: 2 });
});

test("Where rejection is expected it is not a failure, and any other error is", () => {
  const attempts = [at(90, "c1/a"), at(101, "refused"), at(102, "timeout")];
  const { failures, firstNew } = judge(attempts, 100, "refused");
  assert.deepEqual({ failures, firstNew }, { failures: { timeout: 1 }, firstNew: 2 });
});

test("New connections that go elsewhere only after three seconds are called late", () => {
  const known = "connections elsewhere after 3.0 s, none lost, the slowest took 3.1 s";
  assert.equal(costOf({ firstNew: 3000, slowest: 3100 }), known);
  const late = "connections elsewhere after 3.0 s (LATE: expected within 3.0 s), none lost, ";
  assert.ok(costOf({ firstNew: 3001, slowest: 9000 }).startsWith(late));
  assert.match(costOf({ firstNew: undefined, slowest: 0 }), /LATE/);
});

test("Where servers die, a timeout is cut if its attempt was under way then, and failed if it began later", () => {
  const attempts = [
    at(99, "timeout", 50),
    at(101, "timeout", 50),
    at(98, "reset"),
    at(107, "c2/a"),
  ];
  const { cut, failures } = judge(attempts, 90, "c2", 100);
  assert.deepEqual({ cut, failures }, { cut: 1, failures: { timeout: 1, reset: 1 } });
});

test("A server without connections has no first response", () => {
  const { firstNew, lastOld } = judge([at(101, "c1/a")], 100, "c2");
  assert.deepEqual({ firstNew, lastOld }, { firstNew: undefined, lastOld: 2 });
});

test("Connections have settled when the latest ones all reached the server", () => {
  const attempts = [at(1, "c1/a"), at(2, "c2/a"), at(3, "c2/b")];
  assert.equal(hasSettled(attempts, "c2", 2), true);
  assert.equal(hasSettled(attempts, "c2", 3), false);
  assert.equal(hasSettled(attempts.slice(2), "c2", 2), false);
});

test("The client's lines are parsed; its final sum is not an attempt", () => {
  assert.deepEqual(parseAttempt('{"at":5,"name":"c1/a","source":"10.1.0.20","ms":0.5}'), {
    begun: 5,
    ended: 5.5,
    answer: "c1/a",
    error: undefined,
  });
  assert.equal(parseAttempt('{"at":5,"error":"refused","ms":2}')?.error, "refused");
  assert.equal(parseAttempt('{"total":2,"answered":2,"errors":{},"maxMs":1}'), undefined);
});
