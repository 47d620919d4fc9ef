import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { FakeClock } from "../test/doubles/fake-clock.ts";
import { ReflectorStage } from "../test/stages/reflector-stage.ts";
import { TimeSlice } from "./event-loop.ts";

for (const initialEvents of ["sent", "refused"] as const) {
  test(`a reflector yields to the event loop while it reports a long list, initial events ${initialEvents}`, async () => {
    await using it = new ReflectorStage();
    for (let i = 0; i < 40; i++) it.things.put(`o${i}`, i);
    it.server.initialEvents = initialEvents;
    it.server.page = 100;
    it.server.chunk = 1_000_000;
    // Each takes 2 of the 4 milliseconds of a slice.
    it.onChanged = () => it.clock.advance(2);
    it.reflector.start();
    const reported: number[] = [];
    while (it.believed.size < 40) {
      const before = it.believed.size;
      await setImmediate();
      reported.push(it.believed.size - before);
    }
    assert.equal(Math.max(...reported), 2);
  });
}

/** The longest time between two turns of the event loop, until `isOver`. */
async function longestTurn(clock: FakeClock, isOver: () => boolean): Promise<number> {
  let longest = 0;
  while (!isOver()) {
    const before = clock.now();
    await setImmediate();
    longest = Math.max(longest, clock.now() - before);
  }
  return longest;
}

test("of several busy loops, one continues in each turn of the event loop, and all continue equally often", async () => {
  const clock = new FakeClock();
  const names = ["imports", "slices", "nodes", "properties"];
  const order: string[] = [];
  const busy = names.map(async (name) => {
    const slice = new TimeSlice(clock);
    await slice.yield();
    for (let i = 0; i < 20; i++) {
      if (slice.expired) {
        await slice.yield();
        order.push(name);
      }
      clock.advance(1);
    }
  });
  let working = true;
  const all = Promise.all(busy).then(() => {
    working = false;
  });
  assert.equal(await longestTurn(clock, () => !working), 4);
  await all;
  assert.deepEqual(order, Array.from({ length: 4 }, () => names).flat());
});

test("between steps that take longer than a slice, the event loop turns; their result is returned", async () => {
  const clock = new FakeClock();
  const steps = function* (): Generator<void, string> {
    for (let i = 0; i < 6; i++) {
      clock.advance(2);
      yield;
    }
    return "result";
  };
  const began = clock.now();
  const result = new TimeSlice(clock).run(steps());
  assert.ok(clock.now() - began <= 4);
  assert.equal(await longestTurn(clock, () => clock.now() - began >= 12), 4);
  assert.equal(await result, "result");
});
