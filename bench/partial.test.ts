import assert from "node:assert/strict";
import { test } from "node:test";
import { type Run, reportOf } from "./page.ts";
import { withSections } from "./partial.ts";
import { atMost, type Section } from "./table.ts";

const WHOLE: Run = {
  date: new Date("2026-01-02T03:04:05Z"),
  code: "commit 1a2b3c4",
  command: "make bench",
  machine: "1 x pocket calculator",
  minutes: 16,
  load: [0.1, 1.9],
};
const PART: Run = {
  ...WHOLE,
  date: new Date("2026-01-09T03:04:05Z"),
  code: "commit 5d6e7f8",
  command: "node bench/main.ts --part memory",
  minutes: 2,
};

function section(title: string, megabytes: number): Section {
  const target = atMost("", 80, "MB", megabytes);
  return { title, rows: [{ what: "idle", ours: `${megabytes} MB`, target }] };
}

const REPORT = reportOf(WHOLE, [section("memory", 81), section("size", 90)]);

test("a section that was measured again replaces the old one, with its verdict and time; the rest is unchanged", () => {
  const report = withSections(REPORT, PART, [section("memory", 70)]);
  assert.equal(
    report,
    `Measured on 2026-01-02, commit 1a2b3c4, with \`make bench\`, in 16.0 minutes.
1 x pocket calculator; load 0.1 before, 1.9 at the end.
memory: on 2026-01-09, commit 5d6e7f8, with \`node bench/main.ts --part memory\`, in 2.0 minutes; load 0.1 before, 1.9 at the end.

Not met:

* size: idle: 90 MB, not <= 80 MB

### memory

| what | ours  | beside it | ratio | target   | met |
| ---- | ----- | --------- | ----: | -------- | --- |
| idle | 70 MB |           |       | <= 80 MB | yes |

${REPORT.slice(REPORT.indexOf("### size"))}`,
  );
});

test("after a third measurement only the last is shown; a new section is added at the end", () => {
  const twice = withSections(REPORT, PART, [section("memory", 70)]);
  const report = withSections(twice, { ...PART, minutes: 3 }, [section("memory", 71)]);
  assert.equal(report.match(/^memory: on .* in (.*) minutes/gm)?.length, 1);
  assert.match(report, /^memory: on .* in 3\.0 minutes/m);
  assert.match(
    withSections(REPORT, PART, [section("speed", 1)]),
    /### size[\s\S]*### speed\n\n[\s\S]*1 MB/,
  );
});

test("a target that is met now is no longer listed as missed", () => {
  const [memory, size] = [section("memory", 1), section("size", 1)];
  const report = withSections(withSections(REPORT, PART, [size]), PART, [memory]);
  assert.match(report, /\n\nEvery target was met\.\n\n### memory\n/);
  assert.match(withSections(report, PART, [section("size", 99)]), /\nNot met:\n\n\* size: idle/);
});

test("after all sections are measured again, the tables are those of a complete run", () => {
  const sections = [section("memory", 1), section("size", 99)];
  const tables = (report: string) => report.slice(report.indexOf("Not met"));
  assert.equal(tables(withSections(REPORT, PART, sections)), tables(reportOf(WHOLE, sections)));
});

test("a file that is not a report is not overwritten", () => {
  assert.throws(() => withSections("## Figures\n", PART, []), /expected a report/);
});
