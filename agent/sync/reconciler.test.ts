import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../api/names.ts";
import { FakeBackend, type Fault, quiet } from "../../test/support/fake-backend.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { virtualService } from "../../test/support/services.ts";
import { SILENT } from "../../test/support/silent-events.ts";
import { wantedOf } from "../../test/support/wanted.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { Reconciler } from "./reconciler.ts";
import type { Failure, Reconciliation } from "./reconciler-events.ts";

const A = "demo/a";
const B = "demo/b";
const C = "demo/c";

/** A reconciler between a wanted state and a fake kernel. */
class Bench {
  readonly clock = new FakeClock();
  readonly backend = new FakeBackend();
  readonly wanted = new Map<ObjectKey, VirtualService[]>();
  readonly passes: Reconciliation[] = [];
  readonly failures: Failure[] = [];
  readonly reconciler = new Reconciler({
    family: "IPv4",
    backend: this.backend,
    wanted: wantedOf(this.wanted),
    clock: this.clock,
    random: () => 0.5,
    events: {
      reconciled: (pass) => this.passes.push(pass),
      failed: (failure) => this.failures.push(failure),
      ...SILENT,
    },
  });

  /** Says that `key` wants port `port`, or nothing. */
  set(key: ObjectKey, port: number | undefined, at = this.clock.now()): void {
    const services = port === undefined ? [] : [virtualService({ importKey: key, port })];
    if (services.length === 0) this.wanted.delete(key);
    else this.wanted.set(key, services);
    this.reconciler.changed(key, at);
  }

  async started(): Promise<void> {
    this.reconciler.start();
    await quiet();
    this.backend.log.length = 0;
    this.passes.length = 0;
  }

  /** Runs until nothing waits, neither for time nor for the kernel. */
  async settled(): Promise<void> {
    await quiet();
    for (let i = 0; i < 200 && this.busy; i++) {
      this.clock.advance(this.clock.next ?? 0);
      await quiet();
    }
  }

  get busy(): boolean {
    const { oldestWaiting, passSince, synced } = this.reconciler;
    return oldestWaiting !== undefined || passSince !== undefined || !synced;
  }

  assertAsWanted(): void {
    const texts = [...this.wanted].map(([key, services]) => [key, JSON.stringify(services)]);
    assert.deepEqual(new Map(this.backend.kernel), new Map(texts as [ObjectKey, string][]));
  }
}

describe("a reconciler", () => {
  let bench: Bench;
  beforeEach(() => {
    bench = new Bench();
  });
  afterEach(async () => {
    await bench.reconciler.stop();
  });

  test("neither reads nor writes before it is started, and then begins with a complete pass", async () => {
    bench.backend.kernel.set("demo/left-over", "x");
    bench.set(A, 80, 7);
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
      whole: true,
      writes: 1,
      deletes: 1,
      changedAt: [7],
    });
  });

  test("writes nothing if the kernel is as wanted, and says that it has looked", async () => {
    bench.wanted.set(A, [virtualService({ importKey: A })]);
    bench.backend.kernel.set(A, JSON.stringify(bench.wanted.get(A)));
    bench.reconciler.start();
    await quiet();
    assert.deepEqual([bench.backend.log, bench.passes.length], [["read"], 1]);
  });

  test("writes a change at once, and what arrives meanwhile together in the next transaction", async () => {
    await bench.started();
    const release = bench.backend.hold();
    bench.set(A, 80, 1);
    await quiet();
    bench.set(B, 80, 2);
    bench.set(C, 80, 3);
    bench.set(B, 81, 4);
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

  test("does not read on the hot path", async () => {
    await bench.started();
    for (let i = 0; i < 20; i++) {
      bench.set(A, 80 + i);
      await quiet();
    }
    assert.equal(bench.backend.log.length, 20);
    assert.ok(!bench.backend.log.includes("read"));
  });

  test("a change that changes nothing is live at once, without a write", async () => {
    bench.set(A, 80);
    await bench.started();
    bench.set(A, 80, 5);
    await quiet();
    assert.deepEqual(bench.backend.log, []);
    assert.deepEqual(bench.passes.at(-1)?.changedAt, [5]);
  });

  test("does not lose a change that arrives while the kernel is read", async () => {
    const release = bench.backend.hold();
    bench.set(A, 80, 1);
    bench.reconciler.start();
    await quiet();
    bench.set(A, 81, 2);
    bench.set(B, 80, 3);
    release();
    await quiet();
    assert.deepEqual(bench.backend.log, ["read", "apply +demo/a +demo/b"]);
    assert.deepEqual(bench.passes[0]?.changedAt, [1, 2, 3]);
    bench.assertAsWanted();
  });

  for (const fault of ["before", "after"] as const) {
    test(`forgets and reads back after a transaction that failed ${fault} it took effect`, async () => {
      await bench.started();
      bench.backend.faults.push(fault);
      bench.set(A, 80, 5);
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

  test("waits longer from failure to failure, and begins anew after a success", async () => {
    await bench.started();
    bench.backend.faults.push("before", "before", "before", "before");
    bench.set(A, 80);
    await bench.settled();
    bench.backend.faults.push("before");
    bench.set(A, 81);
    await bench.settled();
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

  test("collects what arrives while it waits, and does not try earlier for it", async () => {
    await bench.started();
    bench.backend.faults.push("before");
    bench.set(A, 80);
    await quiet();
    bench.set(B, 80);
    bench.set(A, undefined);
    await quiet();
    assert.deepEqual(bench.backend.log, ["apply +demo/a"]);
    await bench.settled();
    assert.deepEqual(bench.backend.log, ["apply +demo/a", "read", "apply +demo/b"]);
  });

  test("takes out what somebody else did, when it reads back", async () => {
    bench.set(A, 80);
    await bench.started();
    bench.backend.kernel.clear();
    bench.backend.kernel.set("demo/foreign", "x");
    bench.backend.faults.push("before");
    bench.set(B, 80);
    await bench.settled();
    bench.assertAsWanted();
  });

  test("an error in rendering is a failed pass like any other", async () => {
    await bench.started();
    bench.backend.diff = () => {
      throw new Error("cannot be rendered");
    };
    bench.set(A, 80);
    await quiet();
    Reflect.deleteProperty(bench.backend, "diff");
    await bench.settled();
    assert.match(String(bench.failures[0]?.error), /cannot be rendered/);
    bench.assertAsWanted();
  });

  test("knows since when the oldest change waits, in flight or not, told first or not", async () => {
    assert.equal(bench.reconciler.oldestWaiting, undefined);
    await bench.started();
    const release = bench.backend.hold();
    bench.set(A, 80, 20);
    await quiet();
    assert.equal(bench.reconciler.oldestWaiting, 20, "in flight");
    bench.set(B, 80, 30);
    assert.equal(bench.reconciler.oldestWaiting, 20);
    bench.set(C, 80, 10);
    assert.equal(bench.reconciler.oldestWaiting, 10, "told last, but known first");
    bench.backend.faults.push("before");
    release();
    await quiet();
    assert.equal(bench.reconciler.oldestWaiting, 10, "after a failure");
    await bench.settled();
    assert.equal(bench.reconciler.oldestWaiting, undefined);
  });

  test("knows since when a pass is under way", async () => {
    const release = bench.backend.hold();
    bench.clock.advance(5);
    bench.reconciler.start();
    bench.clock.advance(60_000);
    assert.equal(bench.reconciler.passSince, 5);
    release();
    await quiet();
    assert.equal(bench.reconciler.passSince, undefined);
    assert.equal(bench.passes[0]?.seconds, 60);
  });

  test("however many changes wait, remembers the oldest times and applies the last state", async () => {
    await bench.started();
    const release = bench.backend.hold();
    bench.set(A, 1, 1);
    await quiet();
    for (let i = 2; i <= 30_000; i++) bench.set(A, i, i);
    bench.backend.faults.push("before", "before", "before");
    release();
    await quiet();
    for (let i = 0; i < 30_000; i++) bench.set(A, i, 99_999);
    assert.equal(bench.reconciler.oldestWaiting, 1);
    await bench.settled();
    assert.deepEqual(bench.passes.at(-1)?.changedAt.length, 10_000);
    assert.equal(bench.reconciler.oldestWaiting, undefined);
    bench.assertAsWanted();
  });
});

describe("a reconciler that is stopped", () => {
  test("lets the transaction in flight end, and begins no other", async () => {
    const bench = new Bench();
    await bench.started();
    const release = bench.backend.hold();
    bench.set(A, 80);
    await quiet();
    bench.set(B, 80);
    const stopped = bench.reconciler.stop();
    await quiet();
    assert.deepEqual(bench.backend.log, ["apply +demo/a"]);
    release();
    await stopped;
    bench.set(C, 80);
    await bench.settled();
    assert.deepEqual(bench.backend.log, ["apply +demo/a", "close"]);
    assert.deepEqual([...bench.backend.kernel.keys()], [A]);
  });

  test("while it reads, writes nothing", async () => {
    const bench = new Bench();
    bench.set(A, 80);
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
    const bench = new Bench();
    await bench.started();
    bench.backend.faults.push("before");
    bench.set(A, 80);
    await quiet();
    await bench.reconciler.stop();
    assert.deepEqual(bench.backend.log, ["apply +demo/a", "close"]);
    assert.equal(bench.clock.pending, 0);
  });

  test("in the middle of a transaction that fails, does not try again", async () => {
    const bench = new Bench();
    await bench.started();
    const release = bench.backend.hold();
    bench.set(A, 80);
    await quiet();
    bench.backend.faults.push("before");
    const stopped = bench.reconciler.stop();
    release();
    await stopped;
    assert.equal(bench.failures.length, 1);
    assert.deepEqual(bench.backend.log, ["apply +demo/a", "close"]);
  });

  test("before it was started, never begins", async () => {
    const bench = new Bench();
    bench.set(A, 80);
    await bench.reconciler.stop();
    bench.reconciler.start();
    await bench.settled();
    assert.deepEqual(bench.backend.log, ["close"]);
  });
});

test("whatever fails, and whenever, the kernel ends up as wanted", async () => {
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
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const bench = new Bench();
      let release = (): void => undefined;
      bench.reconciler.start();
      for (const one of steps) {
        if (one === "rest") await quiet();
        else if (one === "hold") {
          release();
          release = bench.backend.hold();
        } else if (typeof one === "string") bench.backend.faults.push(one);
        else bench.set(one.key, one.port);
      }
      release();
      await bench.settled();
      bench.assertAsWanted();
      assert.equal(bench.reconciler.oldestWaiting, undefined);
      await bench.reconciler.stop();
    }),
    { numRuns: 150 },
  );
});
