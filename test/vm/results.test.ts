import assert from "node:assert/strict";
import { test } from "node:test";
import { type Report, type Result, Results } from "./results.ts";

const A = "test/a.test.ts";
const B = "test/b.test.ts";
const result = (file: string, name: string, more: Partial<Result> = {}): Report => ({
  ...{ kind: "result", file, name, outcome: "passed" },
  ...more,
});
const ended = (file: string, results: number): Report => ({ kind: "ended", file, results });

/** The failures of a guest that should run `A` and `B` and ended after these reports. */
function failuresOf(reports: readonly Report[], cause = "no reason"): string[] {
  const results = new Results([A, B]);
  for (const report of reports) results.take(report);
  results.close(cause);
  const failed = results.all.filter(({ outcome }) => outcome === "failed");
  return failed.map(({ file, name, reason }) => `${file}: ${name}: ${reason}`);
}

const B_PASSES = [result(B, "two"), ended(B, 1)];

test("a file that did not end has failed, in the test that began last", () => {
  const began: Report = { kind: "began", file: A, name: "one" };
  assert.deepEqual(failuresOf([began, ...B_PASSES], "silent for 300 s"), [
    `${A}: one: no result: silent for 300 s`,
  ]);
  assert.deepEqual(failuresOf(B_PASSES), [`${A}: no test began: no result: no reason`]);
});

test("a file whose results are incomplete, or all skipped, has failed", () => {
  assert.deepEqual(failuresOf([result(A, "one"), ended(A, 2), ...B_PASSES]), [
    `${A}: the whole file: 1 of 2 results were received`,
  ]);
  const none = `${A}: the whole file: no test ran`;
  assert.deepEqual(failuresOf([ended(A, 0), ...B_PASSES]), [none]);
  const skipped = result(A, "one", { outcome: "skipped" });
  assert.deepEqual(failuresOf([skipped, ended(A, 1), ...B_PASSES]), [none]);
});

test("a report of another file, or after the end of its file, is an error", () => {
  assert.throws(() => failuresOf([result("test/c.test.ts", "one")]), /unexpected report/);
  assert.throws(() => failuresOf([...B_PASSES, result(B, "more")]), /unexpected report/);
});
