import assert from "node:assert/strict";
import { test } from "node:test";
import type { Claim, Condition } from "../model/condition.ts";
import { conditionEvents } from "./condition-events.ts";

/** `"Ready True Exported"`, several joined by commas. */
function claims(text: string): Claim[] {
  return text.split(", ").map((one) => {
    const [type = "", status = "", reason = ""] = one.split(" ");
    const known = (["True", "False", "Unknown"] as const).find((word) => word === status);
    return { type, status: known ?? "Unknown", reason, message: "" };
  });
}

function conditions(text: string): Condition[] {
  const times = { lastTransitionTime: "2026-01-01T00:00:00Z", observedGeneration: 1 };
  return claims(text).map((claim) => ({ ...claim, ...times }));
}

const GOOD = "Valid True Valid, Ready True Ready, Conflict False NoConflicts";
for (const [name, before, after, news] of [
  ["a new export that is ready", "", GOOD, "Normal Ready"],
  ["one that waits", "", "Valid True Valid, Ready False Pending", ""],
  ["one that nothing has changed for", GOOD, GOOD, ""],
  ["one without a Service", "", "Valid False NoService, Ready False Pending", "Warning NoService"],
  [
    "a conflict",
    GOOD,
    GOOD.replace("False NoConflicts", "True PortConflict"),
    "Warning PortConflict",
  ],
  ["its end", GOOD.replace("False NoConflicts", "True PortConflict"), GOOD, "Normal NoConflicts"],
  ["a registry that refuses", GOOD, GOOD.replace("True Ready", "False Failed"), "Warning Failed"],
] as const) {
  test(`Events for ${name}: ${news || "none"}`, () => {
    const seen = before === "" ? [] : conditions(before);
    const told = conditionEvents(claims(after), seen);
    assert.equal(told.map(({ level, reason }) => `${level} ${reason}`).join(), news);
  });
}
