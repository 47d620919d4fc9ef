import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { forMany } from "../../test/generators/for-all.ts";
import { Drains } from "./drains.ts";
import { Rotations } from "./rotations.ts";

const SECOND = 1000;
const WINDOWS = { drainWindow: 600, returnWindow: 30 };
const START = Date.UTC(2026, 10, 24);

function bench(windows = WINDOWS) {
  const clock = new FakeClock();
  const today = () => new Date(START + clock.now());
  const rotations = new Rotations({ clock, today, windows });
  rotations.begin("c1", { state: "alive" });
  const now = () => today().getTime();
  /** `stale`, `drained` or `alive` now, and the result. */
  const turn = (to: "alive" | "drained" | "stale") => {
    rotations.update("c1", to === "stale", to === "drained" ? now() : undefined);
    return rotations.of("c1");
  };
  return { clock, now, rotations, turn };
}

test("nodes leave a drained cluster within the window, and return within another", () => {
  const { clock, now, turn } = bench();
  const draining = { direction: "draining", from: now(), length: 600 * SECOND } as const;
  assert.deepEqual(turn("drained"), { state: "drained", shift: draining });
  clock.advance(900 * SECOND);
  const returning = { direction: "returning", from: now(), length: 30 * SECOND } as const;
  assert.deepEqual(turn("alive"), { state: "alive", shift: returning });
});

test("the windows that are 0 need no shift", () => {
  const { clock, turn } = bench({ drainWindow: 0, returnWindow: 0 });
  assert.deepEqual(turn("drained"), { state: "drained" });
  clock.advance(900 * SECOND);
  assert.deepEqual(turn("alive"), { state: "alive" });
});

test("a cluster that was stale for less than a minute returns at once, else node by node", () => {
  for (const [seconds, isGentle] of [
    [59, false],
    [60, true],
  ] as const) {
    const { clock, turn } = bench();
    assert.deepEqual(turn("stale"), { state: "stale" });
    clock.advance(seconds * SECOND);
    assert.equal(turn("alive")?.shift?.direction, isGentle ? "returning" : undefined);
  }
});

test("a drain that is taken back in its window ends at once, and so does a return by another drain", () => {
  const { clock, turn } = bench();
  turn("drained");
  clock.advance(300 * SECOND);
  assert.deepEqual(turn("alive"), { state: "alive" });
  turn("stale");
  clock.advance(300 * SECOND);
  turn("alive");
  clock.advance(29 * SECOND);
  assert.deepEqual(turn("drained"), { state: "drained" });
});

test("a drained cluster that is stale has no window, and stays out until both end", () => {
  const { clock, turn } = bench();
  turn("drained");
  assert.deepEqual(turn("stale"), { state: "stale" });
  assert.deepEqual(turn("drained"), { state: "drained" });
  clock.advance(60 * SECOND);
  assert.equal(turn("alive")?.shift?.direction, "returning");
});

test("after a restart the recorded shift stays, but not one of the other direction or from the future", () => {
  const { clock, now, rotations, turn } = bench();
  const draining = { direction: "draining", from: now(), length: 600 * SECOND } as const;
  const returning = { ...draining, direction: "returning" } as const;
  clock.advance(5 * SECOND);
  rotations.begin("c1", { state: "drained", shift: draining });
  assert.deepEqual(turn("drained"), { state: "drained", shift: draining });
  rotations.begin("c1", { state: "alive", shift: returning });
  assert.deepEqual(turn("alive"), { state: "alive", shift: returning });
  rotations.begin("c1", { state: "alive", shift: draining });
  assert.deepEqual(turn("alive"), { state: "alive" });
  const ahead = { ...returning, from: now() + 3600 * SECOND };
  rotations.begin("c1", { state: "alive", shift: ahead });
  assert.deepEqual(turn("alive"), { state: "alive" });
});

test("a standby takes the window that the leader recorded, unless it sees another state", () => {
  const { clock, now, rotations, turn } = bench();
  turn("stale");
  clock.advance(59 * SECOND);
  assert.deepEqual(turn("alive"), { state: "alive" });
  const shift = { direction: "returning", from: now() - SECOND, length: 30 * SECOND } as const;
  assert.equal(rotations.adopt("c1", { state: "drained" }), false);
  assert.equal(rotations.adopt("c1", { state: "alive", shift }), true);
  assert.deepEqual(rotations.of("c1"), { state: "alive", shift });
  assert.equal(rotations.adopt("c1", { state: "alive", shift }), false);
  assert.equal(rotations.adopt("c1", { state: "alive" }), true);
  assert.deepEqual(rotations.of("c1"), { state: "alive" });
  assert.equal(rotations.adopt("c9", { state: "alive", shift }), false);
});

test("in any history a cluster is in rotation if it is neither stale nor drained, and a window is of its direction, has begun, and follows no running one", async () => {
  const turns = fc.array(
    fc.tuple(
      fc.constantFrom("alive" as const, "drained" as const, "stale" as const),
      fc.integer({ min: 0, max: 1200 }),
      fc.boolean(),
    ),
    { maxLength: 20 },
  );
  await forMany(Number(process.env.RUNS ?? 300), [turns], (history) => {
    const { clock, now, rotations, turn } = bench();
    let before = rotations.of("c1");
    for (const [to, seconds, restarts] of history) {
      const after = turn(to);
      assert.equal(after?.state, to);
      const { shift } = after ?? {};
      if (shift !== undefined) {
        assert.equal(shift.direction, after?.state === "alive" ? "returning" : "draining");
        assert.ok(shift.from <= now());
      }
      const old = before?.shift;
      const isRunning = old !== undefined && now() < old.from + old.length;
      if (isRunning && after?.state !== before?.state) assert.equal(shift, undefined);
      if (after?.state === before?.state && to !== "stale") assert.deepEqual(shift, old);
      if (restarts && after !== undefined) rotations.begin("c1", after);
      assert.deepEqual(rotations.of("c1"), after, "a restart changes nothing");
      before = after;
      clock.advance(seconds * SECOND);
    }
  });
});

const MINUTE = 60_000;

function drainBench() {
  const clock = new FakeClock();
  const lines: string[] = [];
  const skew = { ms: 0 };
  const held = new Set<string>();
  const drains = new Drains({
    clock,
    today: () => new Date(clock.now() + skew.ms),
    mayChange: (_cluster, { where }) => !held.has(where),
    changed: (cluster, drain) => {
      lines.push(
        `${cluster} ${drain === undefined ? "in rotation" : `${drain.by} ${drain.until}`}`,
      );
    },
  });
  const taken = () => lines.splice(0);
  return { clock, drains, held, skew, taken };
}

test("a drain begins and ends by itself, within a second of its times", () => {
  const { clock, drains, taken } = drainBench();
  drains.set("c1", "Secret a", { from: MINUTE, until: 3 * MINUTE, by: "ann" });
  assert.deepEqual(taken(), []);
  assert.equal(drains.of("c1")[0]?.phase, "planned");
  clock.advance(MINUTE - 1);
  assert.deepEqual(taken(), []);
  clock.advance(1001);
  assert.deepEqual(taken(), [`c1 ann ${3 * MINUTE}`]);
  clock.advance(2 * MINUTE - 2001);
  assert.deepEqual(taken(), []);
  clock.advance(2000);
  assert.deepEqual(taken(), ["c1 in rotation"]);
  assert.equal(drains.of("c1")[0]?.phase, "ended");
  assert.equal(drains.inForce("c1"), undefined);
});

test("of several drains of a cluster the one in force that ends last counts, and all are listed", () => {
  const { clock, drains, taken } = drainBench();
  drains.set("c1", "Secret a", { from: 0, until: 5 * MINUTE, by: "ann" });
  drains.set("c1", "Lease of c1", { from: 0, until: 2 * MINUTE, by: "bob" });
  drains.set("c1", "Secret b", { from: 6 * MINUTE, until: 9 * MINUTE, by: "cyd" });
  assert.deepEqual(taken(), [`c1 ann ${5 * MINUTE}`]);
  assert.deepEqual(
    drains.of("c1").map(({ where, phase }) => `${where} ${phase}`),
    ["Secret b planned", "Secret a in-force", "Lease of c1 in-force"],
  );
  drains.set("c1", "Secret a", undefined);
  assert.deepEqual(taken(), [`c1 bob ${2 * MINUTE}`]);
  clock.advance(7 * MINUTE);
  assert.deepEqual(taken(), ["c1 in rotation", `c1 cyd ${9 * MINUTE}`]);
  drains.set("c1", "Secret b", undefined);
  assert.deepEqual(taken(), ["c1 in rotation"]);
});

test("a clock that is set changes which drains are in force", () => {
  const { clock, drains, skew, taken } = drainBench();
  drains.set("c1", "Secret a", { from: 0, until: MINUTE, by: "ann" });
  skew.ms = 2 * MINUTE;
  clock.advance(1000);
  assert.deepEqual(taken(), [`c1 ann ${MINUTE}`, "c1 in rotation"]);
});

test("without a drain there is no timer, nor after a stop", () => {
  const { clock, drains } = drainBench();
  assert.equal(clock.next, undefined);
  drains.set("c1", "Secret a", { from: 0, until: MINUTE });
  assert.ok(clock.next !== undefined);
  drains.stop();
  assert.equal(clock.next, undefined);
});

test("a change that may not be yet waits, also for a drain that is gone; those of other objects do not", () => {
  const { clock, drains, held, taken } = drainBench();
  held.add("Lease");
  drains.set("c1", "Lease", { from: 0, until: 9 * MINUTE, by: "peer" });
  clock.advance(MINUTE);
  assert.deepEqual(taken(), []);
  held.clear();
  clock.advance(1000);
  assert.deepEqual(taken(), [`c1 peer ${9 * MINUTE}`]);
  held.add("Lease");
  drains.set("c1", "Lease", undefined);
  clock.advance(MINUTE);
  assert.deepEqual(taken(), []);
  drains.set("c1", "Secret", { from: 0, until: 5 * MINUTE, by: "ann" });
  assert.deepEqual(taken(), [`c1 ann ${5 * MINUTE}`]);
  drains.set("c1", "Secret", undefined);
  assert.deepEqual(taken(), ["c1 in rotation"]);
  drains.set("c1", "Lease", { from: 0, until: 9 * MINUTE, by: "peer" });
  held.clear();
  clock.advance(1000);
  drains.set("c1", "Lease", undefined);
  assert.deepEqual(taken(), [`c1 peer ${9 * MINUTE}`, "c1 in rotation"]);
});

test("another object that states the same drain changes nothing", () => {
  const { drains, taken } = drainBench();
  const drain = { from: 0, until: MINUTE, by: "ann" };
  drains.set("c1", "ClusterProperty", drain);
  assert.deepEqual(taken(), [`c1 ann ${MINUTE}`]);
  drains.set("c1", "Lease", drain);
  drains.set("c1", "ClusterProperty", undefined);
  assert.deepEqual(taken(), []);
  assert.equal(drains.inForce("c1")?.where, "Lease");
});
