import assert from "node:assert/strict";
import { test } from "node:test";
import { Complaints } from "../../api/parse/complaints.ts";
import { parseRotation, type RotationRecord, rotationContent } from "./rotation.ts";

const shift = { direction: "draining", from: Date.UTC(2026, 10, 24), length: 60_000 } as const;
const drain = { from: shift.from, until: shift.from + 3_600_000, by: "ann", reason: "a = b" };

function parsed(value: unknown, annotations: Readonly<Record<string, string>>) {
  const complaints = new Complaints("");
  const record = parseRotation({ metadata: { annotations }, spec: { value } }, complaints);
  return { record, reasons: complaints.problems.map(({ reason }) => reason) };
}

test("a record is read as it is written, and a cluster that was never out of rotation has none", () => {
  const records: readonly RotationRecord[] = [
    { state: "drained", shift, drain },
    { state: "stale", drain },
    { state: "stale" },
    { state: "alive", shift: { ...shift, direction: "returning" } },
  ];
  for (const record of records) {
    const content = rotationContent(record);
    assert.ok(content);
    assert.deepEqual(parsed(content.value, content.annotations), { record, reasons: [] });
  }
  assert.equal(rotationContent({ state: "alive" }), undefined);
});

test("an invalid state gives no record, and an invalid annotation is left out and reported", () => {
  for (const value of ["", "out", 5, null, "constructor"]) {
    assert.deepEqual(parsed(value, {}), { record: undefined, reasons: ["invalid-object"] });
  }
  const annotations = { "clusterset-proxy.io/drain": "true", "clusterset-proxy.io/shift": "now" };
  const reasons = ["invalid-shift", "invalid-drain"];
  assert.deepEqual(parsed("drained", annotations), { record: { state: "drained" }, reasons });
});
