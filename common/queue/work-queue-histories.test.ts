import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { type Made, step } from "../../test/generators/steps.ts";
import { ApiFault } from "../kubernetes/api-fault.ts";
import { WorkQueue } from "./work-queue.ts";

const END = fc.constantFrom("well", "badly", "throttled", "rejected");
const anyStep = fc.oneof(
  step(5, "add", { key: fc.nat(4) }),
  step(5, "end", { which: fc.nat(9), how: END }),
  step(3, "pass", { ms: fc.nat(5000) }),
  step(3, "settle"),
);
type Step = Made<typeof anyStep>;

/** A queue, and the world that its work is to follow. */
class History {
  readonly clock = new FakeClock();
  readonly queue: WorkQueue<number>;
  /** How often each key has changed, and which of its changes was last worked in with success. */
  readonly changes = new Map<number, number>();
  readonly seen = new Map<number, number>();
  /** Work that is under way, by key. */
  readonly work = new Map<number, { end: PromiseWithResolvers<void>; change: number }>();
  stopped = false;
  /** What must not have happened. */
  readonly wrong: string[] = [];

  constructor(workers: number) {
    this.queue = new WorkQueue({
      reconcile: (key) => this.#begin(key, workers),
      workers,
      // Rejected attempts that took two seconds hang.
      groupOf: (key) => `${key % 2}`,
      clock: this.clock,
      random: Math.random,
      events: { done: () => {}, failed: () => {} },
    });
  }

  async take(step: Step): Promise<void> {
    if (step.do === "add") {
      this.#change(step.key);
      this.queue.add(step.key);
    }
    if (step.do === "end") this.end(step.which, step.how);
    if (step.do === "pass") this.clock.advance(step.ms);
    if (step.do !== "add") await this.settle();
  }

  end(which: number, how: Made<typeof END>): void {
    const [key, work] = [...this.work][which % Math.max(1, this.work.size)] ?? [];
    if (key === undefined || work === undefined) return;
    this.work.delete(key);
    if (how === "well") {
      this.seen.set(key, work.change);
      work.end.resolve();
    } else if (how === "badly") work.end.reject(new Error("no"));
    else if (how === "rejected") work.end.reject(new ApiFault("refused", "no"));
    else work.end.reject(new ApiFault("throttled", "later", { retryAfter: 4000 }));
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 3; turn++) await setImmediate();
    if (this.queue.working !== this.work.size) this.wrong.push("another number is in progress");
  }

  /** All goes well from now on, for as long as it takes. */
  async drain(): Promise<void> {
    await this.settle();
    for (let turn = 0; turn < 100 && (this.clock.pending > 0 || this.work.size > 0); turn++) {
      this.clock.advance(5000);
      await this.settle();
      while (this.work.size > 0) {
        this.end(0, "well");
        await this.settle();
      }
    }
  }

  #change(key: number): void {
    this.changes.set(key, (this.changes.get(key) ?? 0) + 1);
  }

  #begin(key: number, workers: number): Promise<void> {
    if (this.stopped) this.wrong.push("work began after the stop");
    if (this.work.has(key)) this.wrong.push(`two workers on ${key}`);
    const end = Promise.withResolvers<void>();
    this.work.set(key, { end, change: this.changes.get(key) ?? 0 });
    if (this.work.size > workers) this.wrong.push("more work than workers");
    return end.promise;
  }
}

function inOrder(counts: ReadonlyMap<number, number>): (readonly [number, number])[] {
  return [...counts].sort(([a], [b]) => a - b);
}

test("in any history, no change is lost, and no key has two reconciles at the same time", () =>
  forMany(
    200,
    [fc.array(anyStep, { maxLength: 60 }), fc.integer({ min: 1, max: 3 })],
    async (steps, workers) => {
      const it = new History(workers);
      for (const one of steps) await it.take(one);
      await it.drain();
      assert.deepEqual(it.wrong, []);
      assert.deepEqual(inOrder(it.seen), inOrder(it.changes));
      assert.deepEqual([it.queue.depth, it.queue.working, it.queue.failing], [0, 0, 0]);
      assert.equal(it.clock.pending, 0);
    },
  ));

test("in any history, stop resolves when the work has ended, and nothing begins after it", () =>
  forMany(100, [fc.array(anyStep, { maxLength: 40 })], async (steps) => {
    const it = new History(2);
    for (const one of steps) await it.take(one);
    let over = 0;
    for (let i = 0; i < 2; i++) void it.queue.stop().then(() => over++);
    it.stopped = true;
    it.queue.add(0);
    await it.settle();
    assert.deepEqual([over, it.clock.pending], [it.work.size === 0 ? 2 : 0, 0]);
    await it.drain();
    assert.equal(over, 2);
    assert.deepEqual(it.wrong, []);
  }));
