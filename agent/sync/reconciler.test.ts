import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { quiet } from "../../test/doubles/fake-backend.ts";
import { virtualService } from "../../test/generators/services.ts";
import { ReconcilerStage } from "../../test/stages/reconciler-stage.ts";

const A = "demo/a";
const B = "demo/b";
const C = "demo/c";

describe("a reconciler", () => {
  let bench: ReconcilerStage;
  beforeEach(() => {
    bench = new ReconcilerStage();
  });
  afterEach(async () => {
    await bench.reconciler.stop();
  });

  test("neither reads nor writes before it is started, and then begins with a complete pass", async () => {
    bench.backend.kernel.set("demo/left-over", "x");
    bench.want(A, 80, 7);
    await quiet();
    assert.deepEqual(bench.backend.log, []);
    assert.equal(bench.reconciler.synced, false);
    bench.reconciler.start();
    await quiet();
    assert.deepEqual(bench.backend.log, ["read", "apply +demo/a -demo/left-over"]);
    assert.equal(bench.reconciler.synced, true);
    assert.deepEqual(bench.passes[0], {
      family: "IPv4",
      scope: "complete",
      seconds: 0,
      writes: 1,
      deletes: 1,
      changedAt: [7],
    });
  });

  test("writes nothing if the kernel has the desired state, and reports the pass", async () => {
    bench.wanted.set(A, [virtualService({ importKey: A })]);
    bench.backend.kernel.set(A, JSON.stringify(bench.wanted.get(A)));
    bench.reconciler.start();
    await quiet();
    assert.deepEqual([bench.backend.log, bench.passes.length], [["read"], 1]);
  });

  test("writes a change at once, and later changes together in the next transaction", async () => {
    await bench.started();
    const release = bench.backend.hold();
    bench.want(A, 80, 1);
    await quiet();
    bench.want(B, 80, 2);
    bench.want(C, 80, 3);
    bench.want(B, 81, 4);
    await quiet();
    assert.deepEqual(bench.backend.log, ["apply +demo/a"]);
    release();
    await quiet();
    assert.deepEqual(bench.backend.log, ["apply +demo/a", "apply +demo/b +demo/c"]);
    assert.deepEqual(
      bench.passes.map(({ scope, changedAt }) => ({ scope, changedAt })),
      [
        { scope: "changed", changedAt: [1] },
        { scope: "changed", changedAt: [2, 3, 4] },
      ],
    );
    bench.assertAsWanted();
  });

  test("does not read the kernel for a change", async () => {
    await bench.started();
    for (let i = 0; i < 20; i++) {
      bench.want(A, 80 + i);
      await quiet();
    }
    assert.equal(bench.backend.log.length, 20);
    assert.ok(!bench.backend.log.includes("read"));
  });

  test("a change without effect is live at once, without a write", async () => {
    bench.want(A, 80);
    await bench.started();
    bench.want(A, 80, 5);
    await quiet();
    assert.deepEqual(bench.backend.log, []);
    assert.deepEqual(bench.passes.at(-1)?.changedAt, [5]);
  });

  test("does not lose a change that arrives while the kernel is read", async () => {
    const release = bench.backend.hold();
    bench.want(A, 80, 1);
    bench.reconciler.start();
    await quiet();
    bench.want(A, 81, 2);
    bench.want(B, 80, 3);
    release();
    await quiet();
    assert.deepEqual(bench.backend.log, ["read", "apply +demo/a +demo/b"]);
    assert.deepEqual(bench.passes[0]?.changedAt, [1, 2, 3]);
    bench.assertAsWanted();
  });

  test("reports when the present step of a pass began: reading, then writing", async () => {
    const { backend, clock, reconciler } = bench;
    bench.want(A, 80, 1);
    const read = backend.hold();
    reconciler.start();
    await quiet();
    assert.equal(reconciler.stepSince, clock.now());
    clock.advance(400_000);
    const began = clock.now();
    assert.equal(reconciler.stepSince, began - 400_000);
    const write = backend.hold();
    read();
    await quiet();
    clock.advance(1_000);
    assert.deepEqual([backend.log, reconciler.stepSince], [["read", "apply +demo/a"], began]);
    write();
    await quiet();
    assert.equal(reconciler.stepSince, undefined);
  });
});
