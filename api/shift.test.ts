import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../test/generators/for-all.ts";
import { ANNOTATION_SHIFT } from "./keys.ts";
import { Complaints } from "./parse/complaints.ts";
import { MOST_SHIFT_SECONDS, parseShift, shiftText } from "./shift.ts";

function parse(value: unknown) {
  const complaints = new Complaints("EndpointSlice shop/web-c1");
  const shift = parseShift(
    { metadata: { annotations: { [ANNOTATION_SHIFT]: value } } },
    complaints,
  );
  return { shift, reasons: complaints.problems.map(({ reason }) => reason) };
}

test("a shift that the controller writes is parsed to the same shift", async () => {
  const shifts = fc.record({
    direction: fc.constantFrom("draining" as const, "returning" as const),
    from: fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }),
    length: fc.integer({ min: 1, max: MOST_SHIFT_SECONDS }).map((seconds) => seconds * 1000),
  });
  await forAll([shifts], (given) => {
    const shift = { ...given };
    assert.deepEqual(parse(shiftText(shift)), { shift, reasons: [] });
  });
});

test("a shift of more than an hour, without a direction or with another text is a problem and no shift", () => {
  const from = "from=2026-11-24T04:00:00Z";
  for (const text of [
    ...["", "returning", `${from}; for=30s`, `${from}; for=30s; direction=left`],
    ...[`${from}; for=3601s; direction=returning`, `${from}; for=365d; direction=draining`],
    `${from}; for=30s; direction=returning; by=ann`,
  ]) {
    assert.deepEqual(parse(text), { shift: undefined, reasons: ["invalid-shift"] }, text);
  }
});
