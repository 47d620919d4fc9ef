import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forMany } from "../../test/generators/for-all.ts";
import { type Made, step } from "../../test/generators/steps.ts";
import { FINE, LeaseWorld, type Weather } from "../../test/stages/lease-world.ts";

/** What may become of one replica. */
const FATES = ["pause", "resume", "cut", "mend", "stop", "crash"] as const;

const weather: fc.Arbitrary<Weather> = fc.oneof(
  fc.constant(FINE),
  fc.record({
    delay: fc.constantFrom(100, 1000, 5000, 30_000),
    lost: fc.constantFrom(0, 0.1, 0.5, 1),
    error: fc.constantFrom(0, 0.2, 0.6),
  }),
);
const anyStep = fc.oneof(
  step(6, "pass", { ms: fc.oneof(fc.nat(300), fc.nat(5000), fc.nat(40_000)) }),
  step(2, "weather", { weather }),
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom(...FATES), which: fc.nat(3) }) },
);
type Step = Made<typeof anyStep>;
const RUNS = 60;

/** Clocks that differ by as much as we say we bear. */
const rate = fc.double({ min: 0.9905, max: 1.0095, noNaN: true });

/** Numbers in [0, 1) that a seed determines (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function take(world: LeaseWorld, step: Step, rates: readonly number[]): Promise<void> {
  if (step.do === "pass") return world.pass(step.ms);
  if (step.do === "weather") {
    world.weather = step.weather;
    return;
  }
  const replica = world.replicas[step.which];
  if (replica === undefined || replica.stopped) return;
  if (step.do === "pause") replica.pause();
  if (step.do === "resume" && replica.paused) replica.resume();
  if (step.do === "cut" || step.do === "mend") replica.cut = step.do === "cut";
  if (step.do === "stop" && !replica.paused) void replica.stop();
  if (step.do === "crash") {
    // It never goes on.
    replica.pause();
    replica.stopped = true;
  }
  // Another one takes its place.
  if (replica.stopped) world.join(rates[world.replicas.length % rates.length]);
  await world.settle();
}

test("in any history, no two replicas lead at the same time; without faults, one leads", async () => {
  let led = 0;
  await forMany(
    RUNS,
    [
      fc.array(anyStep, { minLength: 5, maxLength: 40 }),
      fc.array(rate, { minLength: 3, maxLength: 3 }),
      fc.integer(),
    ],
    async (steps, rates, seed) => {
      const world = new LeaseWorld(randomOf(seed));
      for (const one of rates) world.join(one);
      await world.pass(3000);
      for (const one of steps) await take(world, one, rates);
      led += world.replicas.filter(({ states }) => states.includes("leader")).length;
      assert.deepEqual(world.wrong, []);
      world.weather = FINE;
      for (const one of world.replicas) {
        one.cut = false;
        if (!one.stopped && one.paused) one.resume();
      }
      await world.pass(60_000);
      assert.deepEqual(world.wrong, []);
      assert.equal(world.leaders.length, 1);
      for (const one of world.replicas) if (!one.stopped) void one.stop();
      await world.pass(60_000);
      assert.deepEqual(world.leaders, []);
    },
  );
  assert.ok(led >= RUNS, `only ${led} ever led`);
});
