import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import { type Fault, quiet } from "../../test/doubles/fake-backend.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { ReconcilerStage } from "../../test/stages/reconciler-stage.ts";

const A = "demo/a";
const B = "demo/b";
const C = "demo/c";

describe("a reconciler whose kernel rejects transactions", () => {
  let bench: ReconcilerStage;
  beforeEach(() => {
    bench = new ReconcilerStage();
  });
  afterEach(async () => {
    await bench.reconciler.stop();
  });

  for (const fault of ["before", "after"] as const) {
    test(`reads back after a transaction that failed ${fault} it took effect`, async () => {
      await bench.started();
      bench.backend.faults.push(fault);
      bench.want(A, 80, 5);
      await quiet();
      assert.deepEqual(bench.backend.log, ["apply +demo/a"]);
      assert.deepEqual(
        bench.failures.map(({ family, failures, retryIn }) => [family, failures, retryIn]),
        [["IPv4", 1, 150]],
      );
      bench.clock.advance(149);
      await quiet();
      assert.deepEqual(bench.backend.log, ["apply +demo/a"]);
      bench.clock.advance(1);
      await quiet();
      const again = fault === "before" ? ["apply +demo/a"] : [];
      assert.deepEqual(bench.backend.log, ["apply +demo/a", "read", ...again]);
      assert.deepEqual(bench.passes.at(-1)?.scope, "complete");
      assert.deepEqual(bench.passes.at(-1)?.changedAt, [5]);
      bench.assertAsWanted();
    });
  }

  test("waits longer after each failure, and resets the delay after a success", async () => {
    await bench.started();
    bench.backend.faults.push("before", "before", "before", "before");
    bench.want(A, 80);
    await bench.settle();
    bench.backend.faults.push("before");
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
    bench.backend.faults.push("before");
    bench.want(A, 80);
    await quiet();
    bench.want(B, 80);
    bench.want(A, undefined);
    await quiet();
    assert.deepEqual(bench.backend.log, ["apply +demo/a"]);
    await bench.settle();
    assert.deepEqual(bench.backend.log, ["apply +demo/a", "read", "apply +demo/b"]);
  });

  test("reverts external changes when it reads back", async () => {
    bench.want(A, 80);
    await bench.started();
    bench.backend.kernel.clear();
    bench.backend.kernel.set("demo/foreign", "x");
    bench.backend.faults.push("before");
    bench.want(B, 80);
    await bench.settle();
    bench.assertAsWanted();
  });

  test("an error in rendering is a failed pass like any other", async () => {
    await bench.started();
    bench.backend.diff = () => {
      throw new Error("cannot be rendered");
    };
    bench.want(A, 80);
    await quiet();
    Reflect.deleteProperty(bench.backend, "diff");
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
    const bench = new ReconcilerStage();
    let release = (): void => undefined;
    bench.reconciler.start();
    for (const one of steps) {
      if (one === "rest") await quiet();
      else if (one === "hold") {
        release();
        release = bench.backend.hold();
      } else if (typeof one === "string") bench.backend.faults.push(one);
      else bench.want(one.key, one.port);
    }
    release();
    await bench.settle();
    bench.assertAsWanted();
    assert.equal(bench.reconciler.oldestWaiting, undefined);
    await bench.reconciler.stop();
  });
});
