import type { Artefact } from "./builds.ts";
import type { Job } from "./jobs.ts";
import type { Outcome } from "./run-job.ts";

/** What the pool uses of the world. */
export interface Pool {
  readonly slots: number;
  /** Resolves when the artefact is there; rejects when it cannot be made. */
  ready(artefact: Artefact): Promise<void>;
  run(job: Job): Promise<Outcome>;
  /** Called after each job: what ended, what still runs, and what waits. */
  progress(ended: Outcome, running: readonly Job[], waiting: readonly Job[]): void;
  /** No job begins after this. */
  readonly stop: AbortSignal;
}

/**
 * Runs all jobs and returns their outcomes in the order in which they end. The longest job whose artefacts are there begins first. If there are too few
 * slots for it, shorter ones that are expected to end before there are enough go before it. Jobs that need the whole machine run last, one after the other.
 */
export async function runAll(jobs: readonly Job[], pool: Pool): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const beside = jobs.filter(({ alone }) => !alone);
  const alone = jobs.filter((job) => job.alone);
  outcomes.push(...(await runSome(beside, alone, pool)));
  for (const [i, job] of alone.entries()) {
    outcomes.push(...(await runSome([job], alone.slice(i + 1), pool)));
  }
  return outcomes;
}

async function runSome(
  jobs: readonly Job[],
  later: readonly Job[],
  pool: Pool,
): Promise<Outcome[]> {
  const waiting = jobs.toSorted((a, b) => b.seconds - a.seconds);
  /** With the time at which each is expected to end. */
  const running = new Map<Job, number>();
  const outcomes: Outcome[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const here = new Set<Artefact>();
  const begin = (job: Job): void => {
    waiting.splice(waiting.indexOf(job), 1);
    running.set(job, now() + job.seconds);
    pool.run(job).then((outcome) => {
      running.delete(job);
      outcomes.push(outcome);
      next();
      pool.progress(outcome, [...running.keys()], [...waiting, ...later]);
    }, reject);
  };
  const next = (): void => {
    if (pool.stop.aborted) waiting.length = 0;
    let free = pool.slots - slotsOf(running);
    /** When the first job that does not fit can begin: what ends before goes first. */
    let reserved = Number.POSITIVE_INFINITY;
    for (const job of [...waiting]) {
      if (!job.needs.every((artefact) => here.has(artefact))) continue;
      if (job.weight > free && running.size > 0)
        reserved = Math.min(reserved, freeAt(running, job.weight - free));
      else if (now() + job.seconds <= reserved) {
        begin(job);
        free -= job.weight;
      }
    }
    if (waiting.length + running.size === 0) resolve();
  };
  for (const artefact of new Set(jobs.flatMap(({ needs }) => needs))) {
    pool.ready(artefact).then(() => {
      here.add(artefact);
      next();
    }, reject);
  }
  // A job that is running ends by itself; one that waits for an artefact would not.
  pool.stop.addEventListener("abort", next, { once: true });
  next();
  await promise;
  pool.stop.removeEventListener("abort", next);
  return outcomes;
}

/** Seconds since the process began. */
function now(): number {
  return performance.now() / 1_000;
}

function slotsOf(running: ReadonlyMap<Job, number>): number {
  return [...running.keys()].reduce((sum, { weight }) => sum + weight, 0);
}

/** When this many slots more are expected to be free. */
function freeAt(running: ReadonlyMap<Job, number>, slots: number): number {
  let free = 0;
  for (const [{ weight }, end] of [...running].sort(([, a], [, b]) => a - b)) {
    free += weight;
    if (free >= slots) return end;
  }
  return Number.POSITIVE_INFINITY;
}

/** Seconds until all jobs have ended, as far as is known: their expected times, shared by the slots. */
export function secondsLeft(
  running: readonly Job[],
  waiting: readonly Job[],
  slots: number,
): number {
  const cost = (job: Job): number => job.seconds * (job.alone ? slots : job.weight);
  const sum = waiting.reduce((total, job) => total + cost(job), 0);
  // A running job has half of its time before it, as a guess.
  const half = running.reduce((total, job) => total + cost(job) / 2, 0);
  return Math.ceil((sum + half) / slots);
}
