import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { quiet } from "../../test/doubles/fake-backend.ts";
import { ReconcilerStage } from "../../test/stages/reconciler-stage.ts";

const A = "demo/a";
const B = "demo/b";
const C = "demo/c";

describe("changes that wait", () => {
  let bench: ReconcilerStage;
  beforeEach(() => {
    bench = new ReconcilerStage();
  });
  afterEach(async () => {
    await bench.reconciler.stop();
  });

  test("reports since when the oldest change waits, in a transaction or not, in any order", async () => {
    assert.equal(bench.reconciler.oldestWaiting, undefined);
    await bench.started();
    const release = bench.backend.hold();
    bench.want(A, 80, 20);
    await quiet();
    assert.equal(bench.reconciler.oldestWaiting, 20, "in flight");
    bench.want(B, 80, 30);
    assert.equal(bench.reconciler.oldestWaiting, 20);
    bench.want(C, 80, 10);
    assert.equal(bench.reconciler.oldestWaiting, 10, "told last, but known first");
    bench.backend.faults.push("before");
    release();
    await quiet();
    assert.equal(bench.reconciler.oldestWaiting, 10, "after a failure");
    await bench.settle();
    assert.equal(bench.reconciler.oldestWaiting, undefined);
  });

  test("the kernel is known to be in sync when it has accepted everything, and not while a change waits", async () => {
    assert.equal(bench.reconciler.inSyncAt, undefined);
    await bench.started();
    const started = bench.clock.now();
    assert.equal(bench.reconciler.inSyncAt, started);
    const release = bench.backend.hold();
    bench.want(A, 80, started);
    await quiet();
    bench.clock.advance(60_000);
    await quiet();
    assert.equal(bench.reconciler.inSyncAt, started, "a transaction is in flight");
    release();
    await bench.settle();
    assert.equal(bench.reconciler.inSyncAt, bench.clock.now());
  });

  test("reports since when a pass is running", async () => {
    const release = bench.backend.hold();
    bench.clock.advance(5);
    bench.reconciler.start();
    bench.clock.advance(60_000);
    assert.equal(bench.reconciler.stepSince, 5);
    release();
    await quiet();
    assert.equal(bench.reconciler.stepSince, undefined);
    assert.equal(bench.passes[0]?.seconds, 60);
  });

  test("with many waiting changes keeps the oldest times and applies the last state", async () => {
    await bench.started();
    const release = bench.backend.hold();
    bench.want(A, 1, 1);
    await quiet();
    for (let i = 2; i <= 30_000; i++) bench.want(A, i, i);
    bench.backend.faults.push("before", "before", "before");
    release();
    await quiet();
    for (let i = 0; i < 30_000; i++) bench.want(A, i, 99_999);
    assert.equal(bench.reconciler.oldestWaiting, 1);
    await bench.settle();
    assert.deepEqual(bench.passes.at(-1)?.changedAt.length, 10_000);
    assert.equal(bench.reconciler.oldestWaiting, undefined);
    bench.assertAsWanted();
  });
});
