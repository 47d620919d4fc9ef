import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { DURATION_SECONDS, LeaseExpiry } from "./lease-expiry.ts";

function setup() {
  const clock = new FakeClock();
  const reported: string[] = [];
  const silent: string[] = [];
  const leases = new LeaseExpiry(
    clock,
    (name, { state, reason }) => reported.push(`${name} ${state}: ${reason}`),
    (name) => silent.push(name),
  );
  return { clock, leases, reported, silent };
}

/** Renews a Lease once a second. */
function renewFor(world: ReturnType<typeof setup>, name: string, seconds: number): void {
  for (let i = 0; i < seconds; i++) {
    world.leases.seen(name, `renewal ${world.clock.now()}`, 10);
    world.clock.advance(1000);
  }
}

test("a Lease that is renewed is alive, one that does not change expires", () => {
  const world = setup();
  renewFor(world, "a", 60);
  assert.deepEqual(world.reported, []);
  world.leases.seen("a", "the same", 10);
  for (let i = 0; i < 9; i++) {
    world.clock.advance(1000);
    world.leases.seen("a", "the same", 10);
  }
  assert.deepEqual(world.reported, []);
  world.clock.advance(2000);
  assert.deepEqual(world.reported, ["a stale: lease-silent"]);
  world.clock.advance(100_000);
  world.leases.seen("a", "the same", 10);
  assert.deepEqual(world.reported, ["a stale: lease-silent"]);
  world.leases.seen("a", "another", 10);
  assert.deepEqual(world.reported, ["a stale: lease-silent", "a alive: renewing"]);
});

test("an unchanged Lease expires after the same time as one that was never seen", () => {
  const { clock, leases, reported } = setup();
  leases.seen("a", "once", 10);
  leases.expect("b", 10);
  clock.advance(9000);
  assert.deepEqual(reported, []);
  clock.advance(2000);
  assert.deepEqual(reported, ["a stale: never-renewed", "b stale: never-renewed"]);
});

test("the first state of a Lease does not prove that it is renewed", () => {
  const { clock, leases, reported } = setup();
  leases.expect("a", 10, "stale");
  leases.seen("a", "old", 10);
  clock.advance(20_000);
  assert.deepEqual(leases.status("a"), { state: "stale", reason: "never-renewed" });
  leases.seen("a", "new", 10);
  assert.deepEqual(reported, ["a alive: renewing"]);
});

test("a Lease is silent after its duration, also one that had expired before, and with a renewal no longer", () => {
  const { clock, leases, silent } = setup();
  leases.expect("a", 10, "stale");
  leases.expect("b", 10);
  clock.advance(9000);
  assert.deepEqual([leases.isSilent("a"), leases.isSilent("b"), silent], [false, false, []]);
  clock.advance(30_000);
  assert.deepEqual([leases.isSilent("a"), leases.isSilent("b"), silent], [true, true, ["a", "b"]]);
  leases.seen("a", "new", 10);
  assert.deepEqual([leases.isSilent("a"), leases.isSilent("b")], [false, true]);
});

test("after a pause of this process every Lease has its full duration again", () => {
  const world = setup();
  renewFor(world, "a", 9);
  world.clock.standStill(3_600_000);
  assert.deepEqual(world.reported, []);
  world.clock.advance(9000);
  assert.deepEqual(world.reported, []);
  world.clock.advance(2000);
  assert.deepEqual(world.reported, ["a stale: lease-silent"]);
  world.clock.standStill(3_600_000);
  assert.deepEqual(
    world.reported,
    ["a stale: lease-silent"],
    "a pause does not bring a Lease back",
  );
});

test("durations are bounded", () => {
  for (const [asked, is] of [
    [0, DURATION_SECONDS.least],
    [Number.MAX_VALUE, DURATION_SECONDS.most],
    [60, 60],
  ] as const) {
    const { clock, leases, reported } = setup();
    leases.expect("a", asked);
    clock.advance(is * 1000 - 1);
    assert.deepEqual(reported, []);
    clock.advance(1001);
    assert.equal(reported.length, 1, String(asked));
  }
});

test("a forgotten Lease is not reported, and no timer remains", () => {
  const { clock, leases, reported } = setup();
  leases.expect("a", 10);
  leases.forget("a");
  assert.equal(clock.pending, 0);
  clock.advance(60_000);
  assert.deepEqual(reported, []);
  leases.expect("b", 10);
  clock.advance(11_000);
  assert.deepEqual(reported, ["b stale: never-renewed"]);
  leases.stop();
  assert.equal(clock.pending, 0);
});

test("in any order of events a Lease expires on the first check after its duration, never before", async () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 15_000 }) }),
    fc.record({ do: fc.constant("seen" as const), text: fc.constantFrom("x", "y", "z") }),
    fc.record({ do: fc.constant("still" as const), ms: fc.integer({ min: 3100, max: 60_000 }) }),
  );
  await forAll([fc.array(step, { maxLength: 60 })], (steps) => {
    const { clock, leases, reported } = setup();
    leases.expect("a", 10);
    let changed = clock.now();
    let text: string | undefined;
    for (const one of steps) {
      if (one.do === "pass") clock.advance(one.ms);
      if (one.do === "still") {
        clock.standStill(one.ms);
        changed = clock.now();
      }
      if (one.do === "seen") {
        leases.seen("a", one.text, 10);
        if (one.text !== text) changed = clock.now();
        text = one.text;
      }
      const unchanged = clock.now() - changed;
      if (unchanged >= 11_000) assert.equal(leases.status("a")?.state, "stale");
      if (reported.at(-1)?.includes("stale") !== true)
        assert.equal(leases.status("a")?.state, "alive");
    }
    const words = reported.map((line) => line.split(/[: ]+/)[1]);
    assert.ok(words.every((word, i) => word === (i % 2 === 0 ? "stale" : "alive")));
  });
});
