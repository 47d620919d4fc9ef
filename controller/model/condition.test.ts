import assert from "node:assert/strict";
import { test } from "node:test";
import { type Claim, type Condition, conditionsOf } from "./condition.ts";

const CLAIM: Claim = { type: "Ready", status: "True", reason: "Ready", message: "so" };
const SEEN: Condition = {
  ...CLAIM,
  lastTransitionTime: "2020-01-01T00:00:00Z",
  observedGeneration: 1,
};
const NOW = Date.UTC(2026, 10, 21, 10, 0, 0, 999);

test("the time of transition stays while the status does, whatever reason and message say", () => {
  const claim: Claim = { ...CLAIM, reason: "Exported", message: "other" };
  assert.deepEqual(conditionsOf([claim], [SEEN], 2, NOW), [
    { ...claim, lastTransitionTime: SEEN.lastTransitionTime, observedGeneration: 2 },
  ]);
});

test("a status that turns, or is new, is timed now", () => {
  for (const seen of [[], [{ ...SEEN, status: "False" }], [{ ...SEEN, type: "Valid" }]] as const) {
    const [condition] = conditionsOf([CLAIM], seen, 1, NOW);
    assert.equal(condition?.lastTransitionTime, "2026-11-21T10:00:00Z");
  }
});

test("what is claimed again is what it was, to the byte: nothing is written", () => {
  assert.equal(JSON.stringify(conditionsOf([CLAIM], [SEEN], 1, NOW)), JSON.stringify([SEEN]));
});
