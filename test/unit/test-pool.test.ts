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

/** A pool whose jobs end when the test says so: `name` begins, `-name` ends. */
class StagedPool implements Pool {
  readonly events: string[] = [];
  readonly artefacts = new Map<string, PromiseWithResolvers<void>>();
  readonly slots: number;
  readonly stop: AbortSignal;
  readonly #ends = new Map<string, () => void>();

  constructor(slots: number, stop: AbortSignal = new AbortController().signal) {
    this.slots = slots;
    this.stop = stop;
  }

  ready(artefact: string): Promise<void> {
    const made = Promise.withResolvers<void>();
    this.artefacts.set(artefact, made);
    return made.promise;
  }

  async run(begun: Job): Promise<Outcome> {
    this.events.push(begun.name);
    await new Promise<void>((resolve) => this.#ends.set(begun.name, resolve));
    return outcome(begun);
  }

  progress({ job: ended }: Outcome): void {
    this.events.push(`-${ended.name}`);
  }

  /** Lets a job end, or an artefact be there. */
  async end(name: string): Promise<void> {
    this.#ends.get(name)?.();
    this.artefacts.get(name)?.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const NEEDS: Partial<Job> = { needs: ["api-server"] };
for (const { name, slots, jobs, ends, events } of [
  {
    name: "the longest job begins first, and a slot that gets free is used at once",
    slots: 2,
    jobs: [job("short", 1), job("long", 9), job("middle", 5)],
    ends: "middle short long",
    events: "long middle short -middle -short -long",
  },
  {
    name: "a job takes as many slots as it weighs; only what ends before there are enough goes before it",
    slots: 2,
    jobs: [job("first", 9), job("heavy", 8, { weight: 2 }), job("light", 7), job("late", 7)],
    ends: "light first late heavy",
    events: "first light late -light -first heavy -late -heavy",
  },
  {
    name: "a job that would end too late does not go before a heavier one",
    slots: 2,
    jobs: [job("heavy", 9, { weight: 2, ...NEEDS }), job("a", 4), job("b", 4), job("c", 4)],
    ends: "api-server a b heavy c",
    events: "a b -a heavy -b c -heavy -c",
  },
  {
    name: "a job that needs the whole machine runs last, with nothing beside it",
    slots: 3,
    jobs: [job("alone", 99, { alone: true }), job("a", 1), job("b", 1)],
    ends: "a b alone",
    events: "a b -a -b alone -alone",
  },
  {
    name: "a job begins when its artefacts are there; others do not wait for them",
    slots: 2,
    jobs: [job("built", 9, NEEDS), job("other", 1)],
    ends: "api-server other built",
    events: "other built -other -built",
  },
]) {
  test(name, async () => {
    const pool = new StagedPool(slots);
    const all = runAll(jobs, pool);
    for (const one of ends.split(" ")) await pool.end(one);
    assert.deepEqual(pool.events, events.split(" "));
    assert.equal((await all).length, jobs.length);
  });
}

test("an artefact that cannot be made fails the run", async () => {
  const pool = new StagedPool(1);
  const all = runAll([job("built", 1, NEEDS)], pool);
  pool.artefacts.get("api-server")?.reject(new Error("no compiler"));
  await assert.rejects(all, /no compiler/);
});

test("after an interruption no job begins, also none that waits for an artefact", async () => {
  const interruption = new AbortController();
  const pool = new StagedPool(1, interruption.signal);
  const waiting = [job("waits", 1), job("built", 1, NEEDS)];
  const all = runAll([job("runs", 9), ...waiting], pool);
  interruption.abort();
  await pool.end("runs");
  assert.equal((await all).map((ended) => ended.job.name).join(), "runs");
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
