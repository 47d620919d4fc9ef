import assert from "node:assert/strict";
import { test } from "node:test";
import { Complaints } from "./complaints.ts";
import { parseCreated, timeOf } from "./time.ts";

test("a time is parsed in any precision and zone", () => {
  const time = "2026-01-01T00:00:00";
  for (const text of [`${time}Z`, `${time}.000000Z`, "2026-01-01T01:00:00+01:00"]) {
    assert.equal(timeOf(text), Date.UTC(2026, 0, 1));
  }
});

test("an invalid or ambiguous time is undefined", () => {
  const local = "2026-01-01T00:00:00";
  const invalid = ["2026-01-01", "1 Jan 2026", "2026-13-01T00:00:00Z", "", 5, null];
  for (const text of [local, [local], ...invalid]) assert.equal(timeOf(text), undefined);
});

test("an invalid creationTimestamp is a problem, a missing one is not", () => {
  const complaints = new Complaints("x");
  assert.equal(parseCreated({ metadata: {} }, complaints), undefined);
  assert.equal(complaints.problems.length, 0);
  assert.equal(parseCreated({ metadata: { creationTimestamp: "x" } }, complaints), undefined);
  assert.deepEqual(
    complaints.problems.map(({ reason, field }) => `${reason} ${field}`),
    ["invalid-object metadata.creationTimestamp"],
  );
});
