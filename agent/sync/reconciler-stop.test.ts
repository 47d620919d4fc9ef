import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { quiet } from "../../test/doubles/fake-backend.ts";
import { ReconcilerStage } from "../../test/stages/reconciler-stage.ts";

const A = "demo/a";
const B = "demo/b";
const C = "demo/c";

describe("a reconciler that is stopped", () => {
  test("finishes the present transaction, and starts no other", async () => {
    const bench = new ReconcilerStage();
    await bench.started();
    const release = bench.backend.hold();
    bench.want(A, 80);
    await quiet();
    bench.want(B, 80);
    const stopped = bench.reconciler.stop();
    await quiet();
    assert.deepEqual(bench.backend.log, ["apply +demo/a"]);
    release();
    await stopped;
    bench.want(C, 80);
    await quiet();
    assert.deepEqual(bench.backend.log, ["apply +demo/a", "close"]);
    assert.deepEqual([...bench.backend.kernel.keys()], [A]);
  });

  test("while it reads, writes nothing", async () => {
    const bench = new ReconcilerStage();
    bench.want(A, 80);
    const release = bench.backend.hold();
    bench.reconciler.start();
    await quiet();
    const stopped = bench.reconciler.stop();
    release();
    await stopped;
    assert.deepEqual(bench.backend.log, ["read", "close"]);
    assert.deepEqual(bench.passes, []);
    assert.equal(bench.reconciler.synced, false);
  });

  test("while it waits after a failure, ends at once", async () => {
    const bench = new ReconcilerStage();
    await bench.started();
    bench.backend.faults.push("before");
    bench.want(A, 80);
    await quiet();
    await bench.reconciler.stop();
    assert.deepEqual(bench.backend.log, ["apply +demo/a", "close"]);
    assert.equal(bench.clock.pending, 0);
  });

  test("in the middle of a transaction that fails, does not try again", async () => {
    const bench = new ReconcilerStage();
    await bench.started();
    const release = bench.backend.hold();
    bench.want(A, 80);
    await quiet();
    bench.backend.faults.push("before");
    const stopped = bench.reconciler.stop();
    release();
    await stopped;
    assert.equal(bench.failures.length, 1);
    assert.deepEqual(bench.backend.log, ["apply +demo/a", "close"]);
  });

  test("before it was started, never begins", async () => {
    const bench = new ReconcilerStage();
    bench.want(A, 80);
    await bench.reconciler.stop();
    bench.reconciler.start();
    await quiet();
    assert.deepEqual(bench.backend.log, ["close"]);
  });
});
