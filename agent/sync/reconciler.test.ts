import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import { type Fault, quiet } from "../../test/doubles/fake-table.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { virtualService } from "../../test/generators/services.ts";
import { ReconcilerStage } from "../../test/stages/reconciler-stage.ts";

const A = "demo/a";
const B = "demo/b";
const C = "demo/c";

let bench: ReconcilerStage;
beforeEach(() => {
  bench = new ReconcilerStage();
});
afterEach(() => bench.reconciler.stop());

describe("a reconciler", () => {
  test("neither reads nor writes before it is started, and then begins with a complete pass", async () => {
    bench.table.kernel.set("demo/left-over", "x");
    bench.want(A, 80, 7);
    await quiet();
    assert.deepEqual(bench.table.log, []);
    assert.equal(bench.reconciler.synced, false);
    bench.reconciler.start();
    await quiet();
    assert.deepEqual(bench.table.log, ["read", "apply +demo/a -demo/left-over"]);
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
    bench.table.kernel.set(A, JSON.stringify(bench.wanted.get(A)));
    bench.reconciler.start();
    await quiet();
    assert.deepEqual([bench.table.log, bench.passes.length], [["read"], 1]);
  });

  test("writes a change at once, and later changes together in the next transaction", async () => {
    await bench.started();
    const release = bench.table.hold();
    bench.want(A, 80, 1);
    await quiet();
    bench.want(B, 80, 2);
    bench.want(C, 80, 3);
    bench.want(B, 81, 4);
    await quiet();
    assert.deepEqual(bench.table.log, ["apply +demo/a"]);
    release();
    await quiet();
    assert.deepEqual(bench.table.log, ["apply +demo/a", "apply +demo/b +demo/c"]);
    assert.deepEqual(
      bench.passes.map(({ scope, changedAt }) => ({ scope, changedAt })),
      [
        { scope: "changed", changedAt: [1] },
        { scope: "changed", changedAt: [2, 3, 4] },
      ],
    );
    bench.assertAsWanted();
  });

  test("a change without effect is live at once, without a write", async () => {
    bench.want(A, 80);
    await bench.started();
    bench.want(A, 80, 5);
    await quiet();
    assert.deepEqual(bench.table.log, []);
    assert.deepEqual(bench.passes.at(-1)?.changedAt, [5]);
  });

  test("reports when the present step of a pass began: reading, then writing", async () => {
    const { table, clock, reconciler } = bench;
    bench.want(A, 80, 1);
    const read = table.hold();
    reconciler.start();
    await quiet();
    assert.equal(reconciler.stepSince, clock.now());
    clock.advance(400_000);
    const began = clock.now();
    assert.equal(reconciler.stepSince, began - 400_000);
    const write = table.hold();
    read();
    await quiet();
    clock.advance(1_000);
    assert.deepEqual([table.log, reconciler.stepSince], [["read", "apply +demo/a"], began]);
    write();
    await quiet();
    assert.equal(reconciler.stepSince, undefined);
  });
});

describe("a reconciler whose kernel rejects transactions", () => {
  for (const fault of ["before", "after"] as const) {
    test(`reads back after a transaction that failed ${fault} it took effect`, async () => {
      await bench.started();
      bench.table.faults.push(fault);
      bench.want(A, 80, 5);
      await quiet();
      assert.deepEqual(bench.table.log, ["apply +demo/a"]);
      assert.deepEqual(
        bench.failures.map(({ family, failures, retryIn }) => [family, failures, retryIn]),
        [["IPv4", 1, 150]],
      );
      bench.clock.advance(149);
      await quiet();
      assert.deepEqual(bench.table.log, ["apply +demo/a"]);
      bench.clock.advance(1);
      await quiet();
      const again = fault === "before" ? ["apply +demo/a"] : [];
      assert.deepEqual(bench.table.log, ["apply +demo/a", "read", ...again]);
      assert.deepEqual(bench.passes.at(-1)?.scope, "complete");
      assert.deepEqual(bench.passes.at(-1)?.changedAt, [5]);
      bench.assertAsWanted();
    });
  }

  test("waits longer after each failure, and resets the delay after a success", async () => {
    await bench.started();
    bench.table.faults.push("before", "before", "before", "before");
    bench.want(A, 80);
    await bench.settle();
    bench.table.faults.push("before");
    bench.want(A, 81);
    await bench.settle();
    assert.deepEqual(
      bench.failures.map(({ failures, retryIn }) => [failures, retryIn]),
      [
        [1, 150],
        [2, 300],
        [3, 600],
        [4, 1200],
        [1, 150],
      ],
    );
    bench.assertAsWanted();
  });

  test("collects changes while it waits, and does not retry earlier because of them", async () => {
    await bench.started();
    bench.table.faults.push("before");
    bench.want(A, 80);
    await quiet();
    bench.want(B, 80);
    bench.want(A, undefined);
    await quiet();
    assert.deepEqual(bench.table.log, ["apply +demo/a"]);
    await bench.settle();
    assert.deepEqual(bench.table.log, ["apply +demo/a", "read", "apply +demo/b"]);
  });

  test("reverts external changes when it reads back", async () => {
    bench.want(A, 80);
    await bench.started();
    bench.table.kernel.clear();
    bench.table.kernel.set("demo/foreign", "x");
    bench.table.faults.push("before");
    bench.want(B, 80);
    await bench.settle();
    bench.assertAsWanted();
  });

  test("an error in rendering is a failed pass like any other", async () => {
    await bench.started();
    bench.table.change = () => {
      throw new Error("cannot be rendered");
    };
    bench.want(A, 80);
    await quiet();
    Reflect.deleteProperty(bench.table, "change");
    await bench.settle();
    assert.match(String(bench.failures[0]?.error), /cannot be rendered/);
    bench.assertAsWanted();
  });
});

test("after any failures, the kernel reaches the desired state", async () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        key: fc.constantFrom<ObjectKey>(A, B, C),
        port: fc.constantFrom(undefined, 80, 81),
      }),
    },
    { weight: 2, arbitrary: fc.constantFrom<Fault>("before", "after") },
    { weight: 2, arbitrary: fc.constant("rest" as const) },
    { weight: 1, arbitrary: fc.constant("hold" as const) },
  );
  await forMany(150, [fc.array(step, { maxLength: 25 })], async (steps) => {
    bench = new ReconcilerStage();
    let release = (): void => undefined;
    bench.reconciler.start();
    for (const one of steps) {
      if (one === "rest") await quiet();
      else if (one === "hold") {
        release();
        release = bench.table.hold();
      } else if (typeof one === "string") bench.table.faults.push(one);
      else bench.want(one.key, one.port);
    }
    release();
    await bench.settle();
    bench.assertAsWanted();
    assert.equal(bench.reconciler.oldestWaiting, undefined);
    await bench.reconciler.stop();
  });
});

describe("changes that wait", () => {
  test("reports since when the oldest change waits, in a transaction or not, in any order", async () => {
    assert.equal(bench.reconciler.oldestWaiting, undefined);
    await bench.started();
    const release = bench.table.hold();
    bench.want(A, 80, 20);
    await quiet();
    assert.equal(bench.reconciler.oldestWaiting, 20, "in flight");
    bench.want(B, 80, 30);
    assert.equal(bench.reconciler.oldestWaiting, 20);
    bench.want(C, 80, 10);
    assert.equal(bench.reconciler.oldestWaiting, 10, "told last, but known first");
    bench.table.faults.push("before");
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
    const release = bench.table.hold();
    bench.want(A, 80, started);
    await quiet();
    bench.clock.advance(60_000);
    await quiet();
    assert.equal(bench.reconciler.inSyncAt, started, "a transaction is in flight");
    release();
    await bench.settle();
    assert.equal(bench.reconciler.inSyncAt, bench.clock.now());
  });
});

describe("a reconciler that is stopped", () => {
  test("finishes the present transaction, and starts no other", async () => {
    await bench.started();
    const release = bench.table.hold();
    bench.want(A, 80);
    await quiet();
    bench.want(B, 80);
    const stopped = bench.reconciler.stop();
    await quiet();
    assert.deepEqual(bench.table.log, ["apply +demo/a"]);
    release();
    await stopped;
    bench.want(C, 80);
    await quiet();
    assert.deepEqual(bench.table.log, ["apply +demo/a", "close"]);
    assert.deepEqual([...bench.table.kernel.keys()], [A]);
  });

  test("while it reads, writes nothing", async () => {
    bench.want(A, 80);
    const release = bench.table.hold();
    bench.reconciler.start();
    await quiet();
    const stopped = bench.reconciler.stop();
    release();
    await stopped;
    assert.deepEqual(bench.table.log, ["read", "close"]);
    assert.deepEqual(bench.passes, []);
    assert.equal(bench.reconciler.synced, false);
  });

  test("while it waits after a failure, ends at once", async () => {
    await bench.started();
    bench.table.faults.push("before");
    bench.want(A, 80);
    await quiet();
    await bench.reconciler.stop();
    assert.deepEqual(bench.table.log, ["apply +demo/a", "close"]);
    assert.equal(bench.clock.pending, 0);
  });

  test("in the middle of a transaction that fails, does not try again", async () => {
    await bench.started();
    const release = bench.table.hold();
    bench.want(A, 80);
    await quiet();
    bench.table.faults.push("before");
    const stopped = bench.reconciler.stop();
    release();
    await stopped;
    assert.equal(bench.failures.length, 1);
    assert.deepEqual(bench.table.log, ["apply +demo/a", "close"]);
  });

  test("before it was started, never begins", async () => {
    bench.want(A, 80);
    await bench.reconciler.stop();
    bench.reconciler.start();
    await quiet();
    assert.deepEqual(bench.table.log, ["close"]);
  });
});
