import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { ReconcilerBench } from "../../test/support/reconciler-bench.ts";

const A = "demo/a";
const MINUTE = 60_000;

describe("what a backend keeps for connections", () => {
  let bench: ReconcilerBench;
  beforeEach(() => {
    bench = new ReconcilerBench();
    // What is called `demo/drained` has no connections left.
    bench.backend.ended = async (believed) => {
      bench.backend.log.push("ended");
      const services = { services: [], kept: [] };
      const imports = new Map([["demo/drained", services] as const]);
      return bench.backend.diff(believed, { complete: false, imports });
    };
  });
  afterEach(() => bench.reconciler.stop());

  test("is looked at a minute after everything was compared, and each minute from then on", async () => {
    await bench.started();
    await bench.pass(MINUTE - 1_000);
    assert.deepEqual(bench.backend.log, []);
    await bench.pass(1_000);
    assert.deepEqual(bench.backend.log, ["ended"]);
    await bench.pass(2 * MINUTE);
    assert.deepEqual(bench.backend.log, ["ended", "ended", "ended"]);
  });

  test("goes by a transaction of its own, which is no pass, and takes nothing else along", async () => {
    bench.want(A, 80);
    await bench.started();
    bench.backend.kernel.set("demo/drained", "[]");
    bench.backend.ended = async () => {
      const believed = new Map([["demo/drained", "[]"] as const]);
      const wish = { services: [], kept: [] };
      const imports = new Map([["demo/drained", wish] as const]);
      return bench.backend.diff(believed, { complete: false, imports });
    };
    await bench.pass(MINUTE);
    assert.deepEqual(bench.backend.log, ["apply -demo/drained"]);
    assert.deepEqual([...bench.backend.kernel.keys()], [A]);
    assert.deepEqual(bench.passes, []);
  });

  test("keeps neither looks for foreign changes nor changes of ours from going on", async () => {
    await bench.started();
    const checks = bench.backend.checks;
    await bench.pass(MINUTE);
    await bench.pass(MINUTE);
    assert.ok(bench.backend.checks > checks + 4);
    bench.backend.log.length = 0;
    bench.want(A, 80);
    await bench.settle();
    assert.deepEqual(bench.backend.log, ["apply +demo/a"]);
  });

  test("a look that fails is a pass that failed: all is read back and compared", async () => {
    await bench.started();
    bench.backend.ended = () => Promise.reject(new Error("no answer"));
    await bench.pass(MINUTE);
    assert.equal(bench.failures.length, 1);
    await bench.pass(1_000);
    assert.deepEqual(bench.backend.log, ["read"]);
  });

  test("is looked at as soon as no other backend leads connections on, of which the backend hears first", async () => {
    bench.backend.alone = () => bench.backend.log.push("alone");
    await bench.started();
    bench.reconciler.alone();
    await bench.settle();
    assert.deepEqual(bench.backend.log, ["alone", "ended"]);
  });

  test("a backend that keeps nothing is not asked", async () => {
    bench.backend.ended = undefined;
    await bench.started();
    await bench.pass(3 * MINUTE);
    assert.deepEqual(bench.backend.log, []);
  });
});
