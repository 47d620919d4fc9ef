import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { captionOf, machine, type Run, reportOf, shownIn, sourceCode } from "./page.ts";
import { atMost, type Section } from "./table.ts";

const RUN: Run = {
  date: new Date("2026-01-02T03:04:05Z"),
  code: "commit 1a2b3c4",
  command: "make bench QUICK=1",
  machine: "1 x pocket calculator",
  minutes: 2.46,
  load: [0.1, 1.96],
};

function sections(megabytes: number): Section[] {
  const target = atMost("", 80, "MB", megabytes);
  return [{ title: "memory", rows: [{ what: "  idle", ours: `${megabytes} MB`, target }] }];
}

test("A report names the time, the commit, the machine and the missed targets", () => {
  const [when, where, , heading, , missed] = reportOf(RUN, sections(81)).split("\n");
  assert.equal(
    when,
    "Measured on 2026-01-02, commit 1a2b3c4, with `make bench QUICK=1`, in 2.5 minutes.",
  );
  assert.equal(where, "1 x pocket calculator; load 0.1 before, 2.0 at the end.");
  assert.equal(heading, "Not met:");
  assert.equal(missed, "* memory: idle: 81 MB, not <= 80 MB");
});

test("A report without missed targets states that", () => {
  assert.match(reportOf(RUN, sections(80)), /\nEvery target was met\.\n\n### memory\n/);
});

test("What was measured is named by its commit, as long as this is a repository", () => {
  const isRepository = existsSync(join(import.meta.dirname, "../.git"));
  assert.match(sourceCode(), isRepository ? /^commit \w{7,}( with changes)?$/ : /^no commit$/);
});

test("A machine is described by its processors, memory, kernel and Node", () => {
  assert.match(machine(), /^\d+ x .+, \d+ GiB; Linux \S+, .*Node \d+\.\d+\.\d+$/);
});

test("The caption of the picture names the day and the machine", () => {
  const machine = "2 x AMD EPYC, 24 GiB; Linux 6.18.44, iptables v1.8.9, Node 24.21.0";
  assert.equal(
    captionOf({ ...RUN, machine }),
    "p50, and p99 as a thin line; 2026-01-02, 2 x AMD EPYC, 24 GiB, Linux 6.18.44",
  );
});

test("BENCHMARKS.md shows the picture, with its last figures for those who do not see it", () => {
  const points = [
    { services: 1, p50: 1, p99: 2 },
    { services: 10_000, p50: 1_200, p99: 2_000 },
  ];
  const line = shownIn([{ label: "one", ours: true, points }]);
  assert.match(
    line,
    /^!\[.*p50: one, 1\.20 s with 10,000 services\]\(images\/change-to-live\.svg\)\n/,
  );
});
