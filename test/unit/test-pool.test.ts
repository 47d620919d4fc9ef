import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "../../scripts/tests/jobs.ts";
import { type Pool, runAll } from "../../scripts/tests/pool.ts";
import { closingText, fileToRepeat, verdictOf } from "../../scripts/tests/report.ts";
import type { Failure, Outcome } from "../../scripts/tests/run-job.ts";

function job(name: string, seconds: number, options: Partial<Job> = {}): Job {
  return {
    ...{ name, files: [`${name}.test.ts`], seconds, weight: 1 },
    ...{ alone: false, unit: false, needs: [], ...options },
  };
}

function outcome(of: Job, ...failures: readonly Failure[]): Outcome {
  const { seconds } = of;
  return { job: of, passed: 2, skipped: [], failures, seconds, cpuSeconds: 3, log: "log" };
}

// Each run of the tests shows in which order jobs run.
test("an artefact that cannot be made fails the run", async () => {
  const made = Promise.reject(new Error("no compiler"));
  const pool: Pool = {
    ...{ slots: 1, stop: new AbortController().signal },
    ...{ ready: () => made, run: async (begun) => outcome(begun), progress: () => undefined },
  };
  await assert.rejects(runAll([job("built", 1, { needs: ["api-server"] })], pool), /no compiler/);
});

const failure = (file: string): Failure => ({ file, name: "a promise", reason: "1 !== 2\nat x" });

test("one file that failed is repeated; a second one, or a check without a file, fails the run", () => {
  const bad = outcome(job("a", 1), failure("a.test.ts"), failure("a.test.ts"));
  const good = outcome(job("b", 1));
  assert.equal(fileToRepeat([good]), undefined);
  assert.deepEqual(fileToRepeat([good, bad]), { job: bad.job, file: "a.test.ts" });
  assert.equal(fileToRepeat([bad, outcome(job("c", 1), failure("c.test.ts"))]), undefined);
  const check = outcome(job("check", 1, { files: [] }), failure("check"));
  assert.equal(fileToRepeat([check]), undefined);
  assert.equal(verdictOf([good, bad], undefined).isWell, false);
  assert.equal(verdictOf([good, bad], bad).isWell, false);
  assert.equal(verdictOf([good, bad], outcome(bad.job)).isWell, true);
});

test("a file that the plan marks once is not repeated: its failure fails the run", () => {
  const bad = outcome(job("drill", 1, { once: true }), failure("drill.test.ts"));
  const outcomes = [outcome(job("b", 1)), bad];
  assert.equal(fileToRepeat(outcomes), undefined);
  const expected = { isWell: false, forgiven: [], failures: bad.failures };
  assert.deepEqual(verdictOf(outcomes, undefined), expected);
});

test("the last lines name the file, the test, the reason and the command that repeats it", () => {
  const outcomes = [outcome(job("a", 1), failure("a.test.ts")), outcome(job("b", 1))];
  const verdict = verdictOf(outcomes, undefined);
  assert.equal(
    closingText(outcomes, verdict, "7", 61),
    `FAILED a.test.ts: a promise
    1 !== 2
    at x
  repeat: SEED=7 node scripts/test.ts a.test.ts
FAILED in 1:01, 6 s of a processor
4 passed, 1 failed, 0 skipped`,
  );
});

test("a file that passed when it was repeated is named with its reason", () => {
  const bad = outcome(job("a", 1), failure("a.test.ts"));
  const verdict = verdictOf([bad], outcome(bad.job));
  const text = closingText([bad], verdict, "1", 5);
  assert.match(text, /^FORGIVEN \(passed when repeated\) a\.test\.ts: a promise\n {4}1 !== 2\n/);
  assert.match(text, /passed in 0:05, 3 s of a processor\n3 passed, 0 failed, 0 skipped$/);
});
