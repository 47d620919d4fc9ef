import assert from "node:assert/strict";
import { test } from "node:test";
import { ANNOTATION_DRAIN } from "../../api/keys.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { problemText } from "../../api/problem.ts";
import { drainText, parseDrain } from "./drain.ts";
import { parseRotation, type RotationRecord, rotationContent } from "./rotation.ts";

const shift = { direction: "draining", from: Date.UTC(2026, 10, 24), length: 60_000 } as const;
const DRAIN = { from: shift.from, until: shift.from + 3_600_000, by: "ann", reason: "a = b" };

function parsed(value: unknown, annotations: Readonly<Record<string, string>>) {
  const complaints = new Complaints("");
  const record = parseRotation({ metadata: { annotations }, spec: { value } }, complaints);
  return { record, reasons: complaints.problems.map(({ reason }) => reason) };
}

test("a record is read as it is written, and a cluster that was never out of rotation has none", () => {
  const records: readonly RotationRecord[] = [
    { state: "drained", shift, drain: DRAIN },
    { state: "stale", drain: DRAIN },
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

const FROM = Date.UTC(2026, 10, 24, 4);
const HOUR = 3_600_000;

function parseText(value?: unknown) {
  const complaints = new Complaints("Secret clusterset-proxy/peer-c1");
  const annotations = value === undefined ? {} : { [ANNOTATION_DRAIN]: value };
  const drain = parseDrain({ metadata: { annotations } }, complaints);
  return { drain, problems: complaints.problems.map(problemText) };
}

test("a drain has a begin and an end, and may say by whom and why", () => {
  const whole = parseText("from=2026-11-24T04:00:00Z; for=2h; by=ann; reason=kernel upgrade");
  const drain = { from: FROM, until: FROM + 2 * HOUR, by: "ann", reason: "kernel upgrade" };
  assert.deepEqual(whole, { drain, problems: [] });
  assert.deepEqual(parseText(drainText(drain)), { drain, problems: [] });
  const bare = { from: FROM, until: FROM + 720 * HOUR };
  assert.deepEqual(parseText("from=2026-11-24T04:00:00Z; for=30d"), { drain: bare, problems: [] });
  assert.deepEqual(parseText(), { drain: undefined, problems: [] });
});

test("a drain without an end, with an invalid one, or of more than 30 days is a problem and no drain", () => {
  for (const text of [
    "true",
    "from=2026-11-24T04:00:00Z",
    "from=2026-11-24T04:00:00Z; for=31d",
    "from=2026-11-24T04:00:00Z; until=2026-11-24T06:00:00Z",
  ]) {
    const path = `metadata.annotations[${ANNOTATION_DRAIN}]`;
    const problem = `Secret clusterset-proxy/peer-c1: ${path}: invalid-drain: "${text}"`;
    assert.deepEqual(parseText(text), { drain: undefined, problems: [problem] });
  }
});
