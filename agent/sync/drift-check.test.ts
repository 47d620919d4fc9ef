import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { quiet } from "../../test/doubles/fake-table.ts";
import { virtualService } from "../../test/generators/services.ts";
import { ReconcilerStage } from "../../test/stages/reconciler-stage.ts";
import type { CheckScope, Drift } from "../backends/backend.ts";
import { type Check, UNCHANGED } from "../backends/kernel-table.ts";
import { DriftCheck, type DriftCheckOptions } from "./drift-check.ts";

const A = "demo/a";
const B = "demo/b";
/** Each scope takes so many milliseconds; only a check of everything finds `all`. */
const slow =
  (clock: FakeClock, ms: Record<CheckScope, number>, all: readonly Drift[], gone = all) =>
  (scope: CheckScope = "all") =>
    new Promise<Check>((resolve) =>
      clock.after(ms[scope], () => resolve(found(scope === "all" ? all : gone))),
    );
const found = (drift: readonly Drift[]): Check => ({
  ...UNCHANGED,
  drift,
  reading: "routine",
});
const CHANGED: Drift = { reason: "chain-changed", what: "nat CSP-X" };
const FLUSHED: Drift = { reason: "jump-missing", what: "nat OUTPUT", suspect: "firewalld" };

describe("while nothing changes", () => {
  let bench: ReconcilerStage;
  beforeEach(async () => {
    bench = new ReconcilerStage();
    bench.set(A, virtualService({ importKey: A }));
    await bench.start();
    bench.table.log.length = 0;
    bench.passes.length = 0;
  });
  afterEach(() => bench.reconciler.stop());

  test("the rules are checked every two seconds, and nothing else is read or written", async () => {
    await bench.pass(60_000);
    assert.equal(bench.table.checks, 30);
    assert.deepEqual(bench.table.log, []);
  });

  test("each check that finds nothing shows that the kernel is in sync", async () => {
    await bench.pass(60_000);
    assert.ok(bench.clock.now() - (bench.reconciler.inSyncAt ?? 0) <= 5_000);
    bench.table.drift = [CHANGED];
    await bench.pass(60_000);
    const last = bench.reconciler.inSyncAt;
    await bench.pass(1_000);
    assert.equal(bench.reconciler.inSyncAt, last, "drift, which another program repeats");
    bench.table.drift = [];
    await bench.pass(20_000);
    assert.ok(bench.clock.now() - (bench.reconciler.inSyncAt ?? 0) <= 5_000);
  });

  test("external changes are repaired at once, and reported with their suspect", async () => {
    bench.table.kernel.clear();
    bench.table.drift = [FLUSHED];
    await bench.pass(2_500);
    assert.deepEqual(bench.table.log, ["read", "apply +demo/a"]);
    assert.deepEqual(bench.drifts, [
      { family: "IPv4", drift: [FLUSHED], repairIn: 0 },
      { family: "IPv4", drift: [{ reason: "chain-missing", what: A }], repairIn: 0 },
    ]);
  });

  test("drift that a check reported is not reported again by the read that follows", async () => {
    bench.table.kernel.clear();
    bench.table.drift = [{ reason: "chain-missing", what: A }];
    await bench.pass(2_500);
    assert.deepEqual([bench.drifts.length, bench.table.log.length], [1, 2]);
  });

  test("what is gone comes back at once, however often a firewall reloads", async () => {
    const gone: Drift = { reason: "table-missing", what: "ip clusterset-proxy" };
    for (let i = 0; i < 20; i++) {
      bench.table.drift = [gone, FLUSHED];
      const before = bench.table.log.length;
      await bench.pass(3_000, 100);
      assert.ok(bench.table.log.length > before, `reload ${i}`);
      bench.table.drift = [];
      await bench.pass(22_500);
    }
    assert.ok(bench.drifts.every(({ repairIn }) => repairIn === 0));
  });

  test("what another program keeps changing is repaired less often, after five seconds at most", async () => {
    bench.table.drift = [CHANGED];
    await bench.pass(120_000);
    const waits = bench.drifts.map(({ repairIn }) => repairIn / 1000);
    assert.deepEqual(waits.slice(0, 6), [0, 1, 2, 4, 5, 5]);
    assert.ok(bench.table.log.every((line) => line === "read"));
  });

  test("what is gone does not wait for what another program keeps changing", async () => {
    bench.table.drift = [CHANGED];
    await bench.pass(60_000);
    while ((bench.drifts.at(-1)?.repairIn ?? 0) < 5_000) await bench.pass(100);
    const [before, reads] = [bench.drifts.length, bench.table.log.length];
    bench.table.drift = [CHANGED, FLUSHED];
    await bench.pass(2_500);
    assert.ok(bench.drifts.slice(before).some(({ repairIn }) => repairIn <= 1_000));
    assert.ok(bench.table.log.length > reads);
  });

  test("the same change after half a minute is new", async () => {
    bench.table.drift = [CHANGED];
    await bench.pass(4_000);
    bench.table.drift = [];
    await bench.pass(25_000);
    const before = bench.drifts.length;
    bench.table.drift = [CHANGED];
    await bench.pass(2_500);
    assert.equal(bench.drifts[before]?.repairIn, 0);
  });

  test("everything is read back and compared every fifteen minutes; drift is counted by reason", async () => {
    bench.table.kernel.set(A, "[]");
    await bench.pass(899_000);
    assert.deepEqual(bench.table.log, []);
    await bench.pass(2_000);
    assert.deepEqual(bench.table.log, ["read", "apply +demo/a"]);
    assert.deepEqual(bench.drifts[0]?.drift, [{ reason: "chain-changed", what: A }]);
    assert.equal(bench.followed.at(-1), "accepted all");
  });

  test("time in which the process is stopped does not count as duration of a check", async () => {
    const { table, clock } = bench;
    const slow = () => {
      table.checks++;
      return new Promise<Check>((resolve) => clock.after(10, () => resolve(found([]))));
    };
    Object.assign(table, { check: slow });
    clock.advance(5_000);
    clock.standStill(3_600_000);
    await bench.pass(1_000_000);
    assert.ok(table.checks > 1, `${table.checks} checks`);
  });

  test("a failed check is reported and retried with backoff; the cached state is kept", async () => {
    bench.table.checkFails = new Error("no iptables");
    await bench.pass(500_000);
    assert.deepEqual(bench.blind.slice(0, 3), [7_500, 15_000, 30_000]);
    assert.deepEqual([bench.table.log, bench.failures, bench.checked], [[], [], 0]);
    bench.table.checkFails = undefined;
    bench.table.drift = [FLUSHED];
    await bench.pass(300_000);
    assert.equal(bench.drifts[0]?.repairIn, 0);
    assert.notEqual(bench.checked, 0);
  });

  test("after a pass that failed, no check counts as successful until the kernel is read again", async () => {
    const { table } = bench;
    await bench.pass(10_000);
    table.faults.push(...Array<"before">(100).fill("before"));
    bench.set(B, virtualService({ importKey: B }));
    await quiet();
    const before = bench.checked;
    for (let seconds = 0; seconds < 20; seconds++) {
      bench.clock.advance(1_000);
      await quiet();
    }
    assert.equal(bench.checked, before);
    table.faults.length = 0;
    await bench.pass(300_000);
    assert.notEqual(bench.checked, before);
  });

  test("a change does not wait for a check, and that check's result is discarded", async () => {
    const { table } = bench;
    const { promise, resolve } = Promise.withResolvers<Check>();
    Object.assign(table, { check: () => promise });
    bench.clock.advance(5_000);
    await quiet();
    bench.set(B, virtualService({ importKey: B }));
    await quiet();
    assert.deepEqual(table.log, ["apply +demo/b"]);
    resolve(found([FLUSHED]));
    await quiet();
    assert.deepEqual(bench.drifts, []);
  });

  /** Moves the time on in small steps, until something has drifted; with changes, ten a second. */
  async function passSlowly(ms: number, changes: "changes" | "no changes"): Promise<void> {
    const end = bench.clock.now() + ms;
    for (let i = 0; bench.clock.now() < end && bench.drifts.length === 0; i++) {
      if (i % 5 === 0 && changes === "changes")
        bench.set(B, virtualService({ importKey: B, port: (i % 60_000) + 1 }));
      await quiet();
      bench.clock.advance(20);
    }
    await quiet();
  }

  for (const [what, ms, drift, gone, seconds] of [
    ["what is gone is found within 3 s", { gone: 20, all: 1_000 }, [], [FLUSHED], 3],
    ["what was changed is found within 40 s", { gone: 20, all: 100 }, [CHANGED], [], 40],
  ] as const) {
    test(`while changes are continuous and checks of everything take ${ms.all} ms, ${what}`, async () => {
      const { table, clock } = bench;
      Object.assign(table, { check: slow(clock, ms, []) });
      await passSlowly(60_000, "changes");
      Object.assign(table, { check: slow(clock, ms, drift, gone) });
      const began = clock.now();
      await passSlowly(200_000, "changes");
      assert.equal(bench.drifts.length, 1);
      const waited = (clock.now() - began) / 1_000;
      assert.ok(waited <= seconds, `${waited}`);
    });
  }

  for (const [changes, most] of [
    ["no changes", 4],
    ["changes", 6],
  ] as const) {
    test(`slow checks that find nothing take at most ${most} % of a processor, with ${changes}`, async () => {
      const { table, clock } = bench;
      const ms = { gone: 40, all: 200 };
      let busy = 0;
      const check = slow(clock, ms, []);
      Object.assign(table, {
        check: (scope: CheckScope) => {
          busy += ms[scope];
          return check(scope);
        },
      });
      await passSlowly(60_000, changes);
      busy = 0;
      await passSlowly(150_000, changes);
      const percent = busy / 1_500;
      // The time may contain one check more than its share.
      assert.ok(percent > 1 && percent <= most + ms.all / 1_500, `${percent}`);
    });
  }

  test("what is gone is looked for every second, and repaired without a check of everything", async () => {
    const { table } = bench;
    await bench.pass(60_500);
    const { checks } = table;
    table.gone = [FLUSHED];
    await bench.pass(1_000, 500);
    assert.deepEqual(table.log, ["read"]);
    assert.deepEqual([bench.drifts.length, table.checks], [1, checks]);
  });

  test("a check that is requested comes at once, or after the pass that is running", async () => {
    bench.table.checks = 0;
    bench.reconciler.checkSoon();
    await quiet();
    assert.equal(bench.table.checks, 1);
    const release = bench.table.hold();
    bench.set(B, virtualService({ importKey: B }));
    await quiet();
    bench.reconciler.checkSoon();
    await quiet();
    assert.equal(bench.table.checks, 1, "not during the pass");
    release();
    await quiet();
    assert.equal(bench.table.checks, 2);
  });

  test("stopping does not wait for a check that hangs", async () => {
    const { table } = bench;
    const hung = (_scope: CheckScope, stop?: AbortSignal) =>
      new Promise<Check>((_resolve, reject) => {
        stop?.addEventListener("abort", () => reject(new Error("stopped")));
      });
    Object.assign(table, { check: hung });
    bench.clock.advance(5_000);
    await quiet();
    await bench.reconciler.stop();
    assert.deepEqual([bench.blind, bench.clock.pending], [[], 0]);
  });
});

describe("garbage that a check finds", () => {
  let stage: ReconcilerStage;
  beforeEach(async () => {
    stage = new ReconcilerStage();
    stage.table.kernel.set("demo/drained", "[]");
    stage.set(A, virtualService({ importKey: A }));
    // A backend keeps what still has connections, whatever is desired.
    const drained = stage.table.kernel.get("demo/drained") ?? "";
    await stage.start();
    stage.table.kernel.set("demo/drained", drained);
    stage.table.log.length = 0;
    stage.passes.length = 0;
    stage.table.garbage = ["demo/drained"];
  });
  afterEach(() => stage.reconciler.stop());

  test("is removed by a transaction of its own, which reads nothing and is not reported as a pass", async () => {
    stage.clock.advance(5_000);
    await quiet();
    assert.deepEqual(stage.table.log, ["apply -demo/drained"]);
    assert.deepEqual([...stage.table.kernel.keys()], [A]);
    assert.deepEqual(stage.passes, []);
  });

  test("is discarded if a change arrives first: the next check finds it again", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = stage.table.check.bind(stage.table);
    stage.table.check = async (...args) => {
      await promise;
      return check(...args);
    };
    stage.clock.advance(5_000);
    stage.set(B, virtualService({ importKey: B }));
    await quiet();
    resolve();
    await quiet();
    assert.deepEqual(stage.table.log, ["apply +demo/b"]);
    stage.table.check = check;
    await stage.pass(6_000);
    assert.equal(stage.table.log[1], "apply -demo/drained");
  });

  test("that cannot be removed is a failed pass: everything is read back and compared", async () => {
    stage.table.faults.push("before");
    stage.clock.advance(5_000);
    await quiet();
    stage.table.garbage = [];
    assert.equal(stage.failures.length, 1);
    await stage.pass(1_000);
    assert.deepEqual(stage.table.log.slice(1, 3), ["read", "apply -demo/drained"]);
  });
});

/** After a first pass; reports to nobody. */
function begun(
  options: Pick<DriftCheckOptions, "clock" | "check" | "interval"> & Partial<DriftCheckOptions>,
): DriftCheck {
  const driftCheck = new DriftCheck({
    ...{ random: () => 0.5, drifted: () => undefined, clean: () => undefined },
    ...{ succeeded: () => undefined, failed: () => undefined, wake: () => undefined },
    ...options,
  });
  driftCheck.passBegins();
  driftCheck.passEnds("complete");
  return driftCheck;
}

test("on a busy node, what a check takes of the processor counts, not how long it takes", async () => {
  const clock = new FakeClock();
  const taken: number[] = [];
  let used = 0;
  const driftCheck = begun({
    clock,
    processorTime: () => used,
    check: async () => {
      used += 30;
      await new Promise<void>((resolve) => clock.after(3_000, resolve));
      return found([]);
    },
    interval: (took) => taken.push(took) && 2_000,
  });
  clock.advance(1_000);
  clock.advance(3_000);
  await driftCheck.stop();
  assert.deepEqual(taken, [30]);
});

for (const [random, minutes] of [
  [0, 13.5],
  [0.5, 15],
] as const) {
  test(`nodes do not compare at the same time: with the random number ${random}, one does after ${minutes} minutes`, async () => {
    const clock = new FakeClock();
    const check = async () => found([]);
    const driftCheck = begun({ clock, random: () => random, check, interval: () => 5_000 });
    clock.advance(minutes * 60_000 - 1);
    assert.equal(driftCheck.due, false);
    clock.advance(1);
    assert.equal(driftCheck.due, true);
    await driftCheck.stop();
    assert.equal(clock.pending, 0);
  });
}
