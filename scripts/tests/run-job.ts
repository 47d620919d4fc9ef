import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { COMPILED } from "./compiled.ts";
import type { Job } from "./jobs.ts";
import { ROOT } from "./plan.ts";
import type { Line, Result } from "./reporter.ts";

/** A test that failed. */
export interface Failure {
  /** The test file, relative to the repository; "make check" for that. */
  readonly file: string;
  /** The test's name, or what happened to its process. */
  readonly name: string;
  readonly reason: string;
}

export interface Outcome {
  readonly job: Job;
  readonly passed: number;
  /** Why tests were skipped: a reason for each. */
  readonly skipped: readonly string[];
  readonly failures: readonly Failure[];
  readonly seconds: number;
  /** Processor time; undefined for the virtual machine and for a process that ended early. */
  readonly cpuSeconds: number | undefined;
  /** Where everything is that the job printed. */
  readonly log: string;
}

/** A job that takes this many times as long as expected is ended, at the earliest after `LEAST_LIMIT_S`. */
const LIMIT_FACTOR = 8;
const LEAST_LIMIT_S = 900;
/** Between SIGTERM, on which tests clean up, and SIGKILL. */
const GRACE_MS = 20_000;
/** How much of a log explains a process that ended without a failed test. */
const TAIL_LINES = 15;

/** API servers and other Go programs live for seconds: with less garbage collection, an API server takes 20 % less processor time to start. */
const ENVIRONMENT = { ...COMPILED, GOGC: "400" };

/** Runs a job to its end. `name`: of its two files in `folder`. */
export async function runJob(
  job: Job,
  folder: string,
  name: string,
  stop: AbortSignal,
): Promise<Outcome> {
  const log = `${folder}/${name}.log`;
  const events = `${folder}/${name}.jsonl`;
  const [program, ...argv] = commandOf(job, events);
  const output = openSync(log, "w");
  const begun = performance.now();
  const child = spawn(program, argv, {
    cwd: ROOT,
    env: ENVIRONMENT,
    stdio: ["ignore", output, output],
  });
  closeSync(output);
  const limitS = Math.max(LEAST_LIMIT_S, job.seconds * LIMIT_FACTOR);
  let cause: string | undefined;
  const end = (why: string): void => {
    if (cause !== undefined) return;
    cause = why;
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), GRACE_MS).unref();
  };
  const timer = setTimeout(() => end(`no end within ${limitS} s`), limitS * 1_000);
  const onStop = (): void => end("interrupted");
  stop.addEventListener("abort", onStop);
  const ended = await new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  clearTimeout(timer);
  stop.removeEventListener("abort", onStop);
  const seconds = (performance.now() - begun) / 1_000;
  const lines = readLines(events);
  const results = lines.filter((line) => "outcome" in line);
  const cpuSeconds = lines.find((line) => "cpuSeconds" in line)?.cpuSeconds;
  const failures = failuresOf(job, results, cause ?? ended, log);
  const of = (outcome: Result["outcome"]): Result[] =>
    results.filter((result) => result.outcome === outcome);
  const skipped = of("skipped").map(({ reason }) => reason || "no reason given");
  return { job, passed: of("passed").length, skipped, failures, seconds, log, cpuSeconds };
}

/** The program of a job, and its arguments. */
function commandOf(job: Job, events: string): [string, ...string[]] {
  if (job.files.length === 0) return [process.execPath, "scripts/check.ts"];
  if (job.guest !== undefined) return guestCommandOf(job, job.guest.alone, events);
  const flags = [
    // Files for the virtual machine strip types from sources, with what Node calls an experiment.
    "--disable-warning=ExperimentalWarning",
    ...["--import", `${ROOT}scripts/tests/unfollowed.ts`],
    ...(job.only === undefined ? [] : [`--test-name-pattern=${job.only}`]),
    ...(job.skip === undefined ? [] : [`--test-skip-pattern=${job.skip}`]),
  ];
  if (job.unit) {
    // For tests of properties that import only fast-check.
    flags.push("--import", `${ROOT}test/seed.ts`);
    return [process.execPath, ...flags, `${ROOT}scripts/tests/run-units.ts`, events, ...job.files];
  }
  return [
    process.execPath,
    ...flags,
    `--test-reporter=${ROOT}scripts/tests/reporter.ts`,
    `--test-reporter-destination=${events}`,
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    ...job.files,
  ];
}

function guestCommandOf(
  { files, only, skip }: Job,
  alone: readonly string[],
  events: string,
): [string, ...string[]] {
  const last = files.filter((file) => alone.includes(file));
  return [
    "test/vm/run",
    ...["--results", events, "--command", "kube-proxy"],
    ...(only === undefined ? [] : ["--only", only]),
    ...(skip === undefined ? [] : ["--skip", skip]),
    ...last.flatMap((file) => ["--alone", file]),
    ...files.filter((file) => !last.includes(file)),
  ];
}

function readLines(events: string): Line[] {
  let text: string;
  try {
    text = readFileSync(events, "utf8");
  } catch {
    // The process ended before its reporter began: failuresOf reports that.
    return [];
  }
  const lines = text.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line);
}

function failuresOf(job: Job, results: readonly Result[], ended: string, log: string): Failure[] {
  const failures = results
    .filter(({ outcome }) => outcome === "failed")
    .map(({ file, name, reason = "" }) => ({ file: fileOf(job, file), name, reason }));
  const [file = job.name] = job.files;
  const tail = (): string =>
    readFileSync(log, "utf8").trimEnd().split("\n").slice(-TAIL_LINES).join("\n");
  if (ended !== "exit code 0" && failures.length === 0) {
    // Files of a job run one after the other: what hangs is in the last one, or in the next.
    const last = results.at(-1);
    const after = last === undefined ? "" : `, after "${last.name}"`;
    const name = `the process: ${ended}${after}`;
    failures.push({ file: last ? fileOf(job, last.file) : file, name, reason: tail() });
  } else if (results.length === 0 && job.files.length > 0) {
    failures.push({ file, name: "no test ran", reason: tail() });
  }
  return failures;
}

/** The test file of a result. A test that is written in a file beside it belongs to the job's only file. */
function fileOf(job: Job, path: string): string {
  const file = relative(ROOT, path);
  if (job.files.includes(file) || job.files.length !== 1) return file;
  return job.files[0] ?? file;
}
