import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll, forMany } from "../../test/generators/for-all.ts";
import { ANNOTATION_SHIFT } from "../keys.ts";
import { MOST_SHIFT_SECONDS, parseShift, shiftText } from "../shift.ts";
import { Complaints } from "./complaints.ts";
import { parseCreated, parseTimeSpan, timeOf, timeSpanText } from "./time-span.ts";

const DAY = 24 * 3_600_000;
const RULES = { most: DAY, fields: ["by", "reason"] };
const FROM = Date.UTC(2026, 10, 24, 4);

test("a span has a begin, a length of one unit, and known fields in any order", () => {
  const parsed = parseTimeSpan(
    "by=ann; for=90m;reason=kernel upgrade; from=2026-11-24T04:00:00Z",
    RULES,
  );
  const fields = new Map([
    ["by", "ann"],
    ["reason", "kernel upgrade"],
  ]);
  assert.deepEqual(parsed, { from: FROM, length: 90 * 60_000, fields });
  for (const [text, length] of [
    ["from=2026-11-24T05:00:00+01:00; for=30s", 30_000],
    ["from=2026-11-24T04:00:00.000Z; for=24h;", DAY],
    ["from=2026-11-24T04:00:00Z; for=1d", DAY],
  ] as const) {
    assert.deepEqual(parseTimeSpan(text, RULES), { from: FROM, length, fields: new Map() }, text);
  }
});

test("what is accepted is accepted again as it is written, and means the same", async () => {
  const pad = (digits: number) => (value: number) => String(value).padStart(digits, "0");
  const zone = fc.constantFrom("Z", "+14:00", "-12:00", "+05:30");
  const year = fc.oneof(fc.constantFrom(0, 1, 9998, 9999), fc.integer({ min: 0, max: 9999 }));
  const times = fc
    .tuple(year.map(pad(4)), fc.constantFrom("01-01T00:00:00", "12-31T23:59:59"), zone)
    .map(([y, rest, z]) => `${y}-${rest}${z}`);
  const lengths = fc
    .tuple(fc.integer({ min: 1, max: 30 }), fc.constantFrom("s", "m", "h", "d"))
    .map(([count, unit]) => `${count}${unit}`);
  const reasons = fc.integer({ min: 1, max: 230 }).map((count) => "x".repeat(count));
  const rules = { ...RULES, most: 30 * DAY };
  const separators = fc.constantFrom(";", "; ", " ; ");
  await forMany(
    Number(process.env.RUNS ?? 2000),
    [times, lengths, reasons, separators],
    (from, length, reason, separator) => {
      const text = [`from=${from}`, `for=${length}`, `reason=${reason}`].join(separator);
      const span = parseTimeSpan(text, rules);
      if (span === undefined) return;
      assert.deepEqual(parseTimeSpan(timeSpanText(span), rules), span, text);
    },
  );
});

test("a missing, invalid, unknown, repeated or unbounded field makes a span invalid", () => {
  const from = "from=2026-11-24T04:00:00Z";
  for (const text of [
    ...[
      undefined,
      null,
      7,
      {},
      "",
      ";",
      "true",
      from,
      "for=2h",
      `${from}; for=`,
      `${from}, for=2h`,
    ],
    ...[`${from}; for=0s`, `${from}; for=-2h`, `${from}; for=2`, `${from}; for=2H`],
    ...[`${from}; for=1.5h`, `${from}; for=1h30m`, `${from}; for=25h`, `${from}; for=2d`],
    ...[`${from}; for=2h; for=3h`, `${from}; ${from}; for=2h`, `${from}; for=2h; to=x`],
    ...[`${from}; for=2h; by=`, `${from}; for=2h; by`, `${from};; for=2h`],
    ...["from=now; for=2h", "from=2026-11-24; for=2h", "from=2026-11-24T04:00:00; for=2h"],
    ...[`${from}; for=2h; by=\u001b[2J`, `${from}; for=2h; by=a\u202eb`, `${from};\nfor=2h`],
    `${from}; for=2h; reason=${"x".repeat(256)}`,
  ]) {
    assert.equal(parseTimeSpan(text, RULES), undefined, JSON.stringify(text));
  }
});

test("any text is parsed or rejected, and a canonical text is parsed to the same span", async () => {
  const part = fc.constantFrom(
    ...["from=2026-11-24T04:00:00Z", "for=2h", "by=ann", "reason=x=y", "; ", ";", " ", "for=9d"],
    ...["by=ß", "from=", "=", "\u0000"],
  );
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(part, { maxLength: 8 }).map((parts) => parts.join("")),
    fc.array(part, { maxLength: 5 }).map((parts) => parts.join("; ")),
  );
  await forMany(2000, [texts], (text) => {
    const span = parseTimeSpan(text, RULES);
    if (span === undefined) return;
    assert.ok(span.length > 0 && span.length <= RULES.most);
    assert.deepEqual(parseTimeSpan(timeSpanText(span), RULES), span);
  });
});

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
  const told = complaints.problems.map(({ reason, field }) => `${reason} ${field}`);
  assert.deepEqual(told, ["invalid-object metadata.creationTimestamp"]);
});

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
