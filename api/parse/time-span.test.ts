import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseTimeSpan, timeSpanText } from "./time-span.ts";

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

test("any text is parsed or rejected, and a canonical text is parsed to the same span", () => {
  const part = fc.constantFrom(
    ...["from=2026-11-24T04:00:00Z", "for=2h", "by=ann", "reason=x=y", "; ", ";", " ", "for=9d"],
    ...["by=ß", "from=", "=", "\u0000"],
  );
  const texts = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(part, { maxLength: 8 }).map((parts) => parts.join("")),
    fc.array(part, { maxLength: 5 }).map((parts) => parts.join("; ")),
  );
  fc.assert(
    fc.property(texts, (text) => {
      const span = parseTimeSpan(text, RULES);
      if (span === undefined) return;
      assert.ok(span.length > 0 && span.length <= RULES.most);
      assert.deepEqual(parseTimeSpan(timeSpanText(span), RULES), span);
    }),
    { numRuns: 2000 },
  );
});
