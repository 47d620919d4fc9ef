import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseReport, type Report } from "./report.ts";

test("reports are read as written", () => {
  const ended: Report = {
    ...{ kind: "ended", id: "/a.test.ts#1", test: true },
    failure: {
      message: "1 !== 2\n",
      stack: 'Error: "1" !== 2\n    at a.test.ts:1:1',
      inside: false,
    },
  };
  assert.deepEqual(parseReport(JSON.stringify(ended)), ended);
});

test("a truncated or invalid line is not a report", () => {
  const line = JSON.stringify({
    kind: "began",
    id: "/a.test.ts#1",
    name: "a € test",
  } satisfies Report);
  fc.assert(
    fc.property(fc.nat(line.length - 1), (length) => {
      assert.throws(() => parseReport(line.slice(0, length)), /not a report/);
    }),
  );
  for (const noise of ["null", "7", "[]", "{}", '{"kind":"panic"}', "[    1.2] Kernel panic"]) {
    assert.throws(() => parseReport(noise), /not a report/);
  }
});
