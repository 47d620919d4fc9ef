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

test("the transition time changes only with the status", () => {
  const claim: Claim = { ...CLAIM, reason: "Exported", message: "other" };
  assert.deepEqual(conditionsOf([claim], [SEEN], 2, NOW), [
    { ...claim, lastTransitionTime: SEEN.lastTransitionTime, observedGeneration: 2 },
  ]);
});

test("a new or changed status has the present time", () => {
  for (const seen of [[], [{ ...SEEN, status: "False" }], [{ ...SEEN, type: "Valid" }]] as const) {
    const [condition] = conditionsOf([CLAIM], seen, 1, NOW);
    assert.equal(condition?.lastTransitionTime, "2026-11-21T10:00:00Z");
  }
});

test("equal claims give byte-equal conditions", () => {
  assert.equal(JSON.stringify(conditionsOf([CLAIM], [SEEN], 1, NOW)), JSON.stringify([SEEN]));
});
