import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { quiet } from "../../test/support/fake-backend.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { ReconcilerBench } from "../../test/support/reconciler-bench.ts";
import { virtualService } from "../../test/support/services.ts";
import type { Drift } from "../backends/backend.ts";
import { Inspection } from "./inspection.ts";

const A = "demo/a";
const B = "demo/b";
const FLUSHED: Drift = { reason: "jump-missing", what: "nat OUTPUT", suspect: "firewalld" };

describe("while nothing changes", () => {
  let bench: ReconcilerBench;
  beforeEach(async () => {
    bench = new ReconcilerBench();
    bench.set(A, virtualService({ importKey: A }));
    await bench.start();
    bench.backend.log.length = 0;
    bench.passes.length = 0;
  });
  afterEach(() => bench.reconciler.stop());

  test("the rules are looked at every five seconds, and nothing is read or written", async () => {
    await bench.pass(60_000);
    assert.equal(bench.backend.checks, 12);
    assert.deepEqual(bench.backend.log, []);
  });

  test("what somebody has changed is repaired at once, and told with its suspect", async () => {
    bench.backend.kernel.clear();
    bench.backend.drift = [FLUSHED];
    await bench.pass(6_000);
    assert.deepEqual(bench.backend.log, ["read", "apply +demo/a"]);
    assert.deepEqual(bench.drifts, [
      { family: "IPv4", drift: [FLUSHED], repairIn: 0 },
      { family: "IPv4", drift: [{ reason: "chain-missing", what: A }], repairIn: 0 },
    ]);
  });

  test("what is told of when it is seen is not told of again when it is read back", async () => {
    bench.backend.kernel.clear();
    bench.backend.drift = [{ reason: "chain-missing", what: A }];
    await bench.pass(6_000);
    assert.deepEqual([bench.drifts.length, bench.backend.log.length], [1, 2]);
  });

  test("who changes the same again and again is fought less and less often", async () => {
    bench.backend.drift = [FLUSHED];
    await bench.pass(1_200_000);
    const waits = bench.drifts.map(({ repairIn }) => repairIn / 1000);
    assert.deepEqual(waits.slice(0, 8), [0, 5, 10, 20, 40, 80, 160, 300]);
    assert.ok(bench.backend.log.every((line) => line === "read"));
  });

  test("something new is repaired at once, in the middle of a feud too", async () => {
    bench.backend.drift = [FLUSHED];
    await bench.pass(60_000);
    bench.backend.drift = [FLUSHED, { reason: "chain-changed", what: "nat CSP-X" }];
    const before = bench.drifts.length;
    await bench.pass(60_000);
    assert.equal(bench.drifts[before]?.repairIn, 0);
  });

  test("after ten minutes of peace the same is news again", async () => {
    bench.backend.drift = [FLUSHED];
    await bench.pass(6_000);
    bench.backend.drift = [];
    await bench.pass(610_000);
    bench.backend.drift = [FLUSHED];
    await bench.pass(5_000);
    assert.deepEqual(
      bench.drifts.map(({ repairIn }) => repairIn),
      [0, 0],
    );
  });

  test("everything is read back and compared every fifteen minutes; what is found is counted by reason", async () => {
    bench.backend.kernel.set(A, "[]");
    await bench.pass(899_000);
    assert.deepEqual(bench.backend.log, []);
    await bench.pass(2_000);
    assert.deepEqual(bench.backend.log, ["read", "apply +demo/a"]);
    assert.deepEqual(bench.drifts[0]?.drift, [{ reason: "chain-changed", what: A }]);
    assert.equal(bench.followed.at(-1), "accepted all");
  });

  test("a look that takes long is followed by a pause of more than a hundred times as long", async () => {
    const { backend, clock } = bench;
    const slow = () => {
      backend.checks++;
      return new Promise<Drift[]>((resolve) => clock.after(1_000, () => resolve([])));
    };
    Object.assign(backend, { check: slow });
    await bench.pass(800_000);
    assert.ok(backend.checks >= 3 && backend.checks <= 6, `${backend.checks} looks`);
  });

  test("standing still in the middle of a look does not count as looking", async () => {
    const { backend, clock } = bench;
    const slow = () => {
      backend.checks++;
      return new Promise<Drift[]>((resolve) => clock.after(10, () => resolve([])));
    };
    Object.assign(backend, { check: slow });
    clock.advance(5_000);
    clock.standStill(3_600_000);
    await bench.pass(1_000_000);
    assert.ok(backend.checks > 1, `${backend.checks} looks`);
  });

  test("a look that fails is told, and tried again later and later; nothing is forgotten", async () => {
    bench.backend.checkFails = new Error("no iptables");
    await bench.pass(500_000);
    assert.deepEqual(bench.blind.slice(0, 3), [7_500, 15_000, 30_000]);
    assert.deepEqual([bench.backend.log, bench.failures], [[], []]);
    bench.backend.checkFails = undefined;
    bench.backend.drift = [FLUSHED];
    await bench.pass(300_000);
    assert.equal(bench.drifts[0]?.repairIn, 0);
  });

  test("a change does not wait for a look, and what the look then says is not believed", async () => {
    const { backend } = bench;
    const { promise, resolve } = Promise.withResolvers<Drift[]>();
    Object.assign(backend, { check: () => promise });
    bench.clock.advance(5_000);
    await quiet();
    bench.set(B, virtualService({ importKey: B }));
    await quiet();
    assert.deepEqual(backend.log, ["apply +demo/b"]);
    resolve([FLUSHED]);
    await quiet();
    assert.deepEqual(bench.drifts, []);
  });

  test("changes without end do not keep it from ever looking", async () => {
    const { backend, clock } = bench;
    const look = () => new Promise<Drift[]>((resolve) => clock.after(20, () => resolve([FLUSHED])));
    Object.assign(backend, { check: look });
    for (let i = 0; i < 1_000 && bench.drifts.length === 0; i++) {
      bench.set(B, virtualService({ importKey: B, port: i + 1 }));
      await quiet();
      clock.advance(50);
      bench.set(B, virtualService({ importKey: B, port: i + 2_000 }));
      clock.advance(20);
      await quiet();
    }
    assert.ok(bench.drifts.length > 0);
  });

  test("stopping does not wait for a look that hangs", async () => {
    const { backend } = bench;
    const hung = (_: unknown, stop?: AbortSignal) =>
      new Promise<Drift[]>((_resolve, reject) => {
        stop?.addEventListener("abort", () => reject(new Error("stopped")));
      });
    Object.assign(backend, { check: hung });
    bench.clock.advance(5_000);
    await quiet();
    await bench.reconciler.stop();
    assert.deepEqual([bench.blind, bench.clock.pending], [[], 0]);
  });
});

for (const [random, minutes] of [
  [0, 13.5],
  [0.5, 15],
] as const) {
  test(`nodes do not compare together: one that draws ${random} does after ${minutes} minutes`, async () => {
    const clock = new FakeClock();
    const inspection = new Inspection({
      clock,
      random: () => random,
      look: async () => [],
      pause: () => 5_000,
      drifted: () => undefined,
      failed: () => undefined,
      wake: () => undefined,
    });
    inspection.passBegins();
    inspection.passEnds("complete");
    clock.advance(minutes * 60_000 - 1);
    assert.equal(inspection.due, false);
    clock.advance(1);
    assert.equal(inspection.due, true);
    await inspection.stop();
    assert.equal(clock.pending, 0);
  });
}
