import type { Job } from "./jobs.ts";
import type { Failure, Outcome } from "./run-job.ts";

/** The result of a run. */
export interface Verdict {
  readonly isWell: boolean;
  /** Failures of the one file that passed when it was repeated. */
  readonly forgiven: readonly Failure[];
  readonly failures: readonly Failure[];
}

/**
 * The file to repeat: the only one that failed. Undefined if none failed, or more than one, if the file is unknown, or if its job
 * runs once.
 */
export function fileToRepeat(outcomes: readonly Outcome[]): { job: Job; file: string } | undefined {
  const failed = outcomes.filter(({ failures }) => failures.length > 0);
  const files = new Set(failed.flatMap(({ failures }) => failures.map(({ file }) => file)));
  const [outcome] = failed;
  const [file] = files;
  if (outcome === undefined || file === undefined || files.size > 1) return undefined;
  if (failed.some(({ job }) => job.once === true)) return undefined;
  return outcome.job.files.includes(file) ? { job: outcome.job, file } : undefined;
}

/** `retry`: the outcome of the file that was repeated. */
export function verdictOf(outcomes: readonly Outcome[], retry: Outcome | undefined): Verdict {
  const failures = outcomes.flatMap((outcome) => outcome.failures);
  const isForgiven = retry !== undefined && retry.failures.length === 0;
  if (isForgiven) return { isWell: true, forgiven: failures, failures: [] };
  return { isWell: failures.length === 0, forgiven: [], failures };
}

/** One line for a job that ended. */
export function jobLine(outcome: Outcome): string {
  const { job, passed, skipped, failures, seconds, cpuSeconds } = outcome;
  const counts = [
    ...(passed > 0 ? [`${passed} passed`] : []),
    ...(failures.length > 0 ? [`${failures.length} FAILED`] : []),
    ...(skipped.length > 0 ? [`${skipped.length} skipped`] : []),
  ];
  const said = counts.length === 0 ? "passed" : counts.join(", ");
  const cost = cpuSeconds === undefined ? "" : `, ${Math.round(cpuSeconds)} s of a processor`;
  return `${shortName(job)}: ${said} in ${clock(seconds)}${cost}`;
}

/** What runs, and the expected time left. */
export function progressLine(running: readonly Job[], waiting: number, left: number): string {
  if (running.length === 0) return "";
  const names = running.map(shortName).join(", ");
  return `  running: ${names}; ${waiting} wait; about ${clock(left)} left`;
}

/** A test that failed, with its reason. */
export function failureText(word: string, { file, name, reason }: Failure): string {
  return `${word} ${file}: ${name}\n${reason.replaceAll(/^/gm, "    ")}`;
}

/** The last lines of a run. */
export function closingText(
  outcomes: readonly Outcome[],
  { isWell, forgiven, failures }: Verdict,
  seed: string,
  seconds: number,
): string {
  const sum = (count: (outcome: Outcome) => number): number =>
    outcomes.reduce((total, outcome) => total + count(outcome), 0);
  const passed = sum((outcome) => outcome.passed) + forgiven.length;
  const cpu = sum((outcome) => outcome.cpuSeconds ?? 0);
  const skipped = new Map<string, number>();
  for (const reason of outcomes.flatMap((outcome) => outcome.skipped))
    skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
  return [
    ...[...skipped].map(([reason, count]) => `skipped ${count}: ${reason}`),
    ...forgiven.map((failure) => failureText("FORGIVEN (passed when repeated)", failure)),
    ...failures.flatMap((failure) => [
      failureText("FAILED", failure),
      `  repeat: ${failure.file === "make check" ? failure.file : `SEED=${seed} node scripts/test.ts ${failure.file}`}`,
    ]),
    `${isWell ? "passed" : "FAILED"} in ${clock(seconds)}, ${Math.round(cpu)} s of a processor`,
    `${passed} passed, ${failures.length} failed, ${sum((outcome) => outcome.skipped.length)} skipped`,
  ].join("\n");
}

function shortName({ name, only, skip }: Job): string {
  const filter = only ?? (skip === undefined ? undefined : `not ${skip}`);
  const short = name.replace(/^test\//, "").replace(/\.test\.ts$/, "");
  return filter === undefined ? short : `${short} (${filter})`;
}

/** Minutes and seconds. */
export function clock(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
