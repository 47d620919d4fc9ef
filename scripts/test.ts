import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Builds } from "./tests/builds.ts";
import { again, isOfRest, jobsOf, PARTS, type Part } from "./tests/jobs.ts";
import { type Pool, runAll, secondsLeft } from "./tests/pool.ts";
import * as report from "./tests/report.ts";
import { runJob } from "./tests/run-job.ts";

const USAGE = `node scripts/test.ts [unit | test | rest | here | guest] [PATTERN...]

  unit      what needs no root (npm test)
  test      make test
  rest      what make test-all runs after make test
  here      the rest, without the virtual machine
  guest     the rest, in the virtual machine
  PATTERN   only test files that match, for example 'test/kernel/**'; without a part, all tests of these files

A file that fails runs once more at the end. One such file is forgiven; a second one fails the run.
So does any failure of a file that scripts/tests/plan.ts marks "once".
SEED=NUMBER repeats the random choices of an earlier run.`;

const isPart = (word: string | undefined): word is Part => PARTS.some((part) => part === word);

const argv = process.argv.slice(2);
if (argv.length === 0 || argv.some((word) => word.startsWith("-"))) {
  console.log(USAGE);
  process.exit(argv.includes("--help") ? 0 : 2);
}
const part = isPart(argv[0]) ? argv[0] : "some";
const processors = availableParallelism();

// make test makes the same random choices each time, the rest others.
const seed = process.env.SEED ?? (isOfRest(part) ? String(Date.now() % 2 ** 31) : "1");
process.env.SEED = seed;
const patterns = part === "some" ? argv : argv.slice(1);
const jobs = jobsOf(part, processors, patterns);
if (jobs.length === 0) throw new Error(`no test file matches ${patterns.join(" ")}`);

const begun = performance.now();
const elapsed = (): number => (performance.now() - begun) / 1_000;
const folder = mkdtempSync(join(tmpdir(), "clusterset-tests-"));
const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => interruption.abort());
}

const builds = new Builds(jobs.flatMap(({ needs }) => needs));
let started = 0;
let ended = 0;
const pool: Pool = {
  // More than processors: tests wait for the kernel, API servers and kubelets.
  slots: part === "unit" ? processors : processors + 2,
  stop: interruption.signal,
  ready: (artefact) => builds.ready(artefact),
  run: (job) => runJob(job, folder, String(++started).padStart(3, "0"), interruption.signal),
  progress: (outcome, running, waiting) => {
    ended += 1;
    console.log(`${report.clock(elapsed())} ${ended}/${jobs.length} ${report.jobLine(outcome)}`);
    for (const failure of outcome.failures) console.log(report.failureText("FAILED", failure));
    const line = report.progressLine(
      running,
      waiting.length,
      secondsLeft(running, waiting, pool.slots),
    );
    if (line !== "") console.log(line);
  },
};

console.log(`${jobs.length} jobs, ${pool.slots} at a time, SEED=${seed}; logs in ${folder}`);
const outcomes = await runAll(jobs, pool);
const repeated = interruption.signal.aborted ? undefined : report.fileToRepeat(outcomes);
const retry = repeated && (await pool.run(again(repeated.job, [repeated.file])));
if (retry !== undefined) console.log(`${report.clock(elapsed())} ${report.jobLine(retry)}`);
const verdict = report.verdictOf(outcomes, retry);
console.log(`\n${report.closingText(outcomes, verdict, seed, elapsed())}`);
const isWell = verdict.isWell && !interruption.signal.aborted;
if (isWell && verdict.forgiven.length === 0) rmSync(folder, { recursive: true });
process.exitCode = isWell ? 0 : 1;
