import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Reflection } from "../../test/support/reflection.ts";
import { Turn } from "./turn.ts";

for (const initialEvents of ["sent", "refused"] as const) {
  test(`objects that come all at once are told in turns with others, initial events ${initialEvents}`, async () => {
    const it = new Reflection();
    for (let i = 0; i < 40; i++) it.server.store.put(`o${i}`, i);
    it.server.initialEvents = initialEvents;
    it.server.page = 100;
    it.server.cut = 1_000_000;
    // Each takes 2 of the 4 milliseconds of a turn.
    it.onChanged = () => it.clock.advance(2);
    it.reflector.start();
    const told: number[] = [];
    while (it.believed.size < 40) {
      const before = it.believed.size;
      await setImmediate();
      told.push(it.believed.size - before);
    }
    assert.equal(Math.max(...told), 2);
    await it.stop();
  });
}

test("of several that are busy at once one has its turn in each round of the event loop, and all have it equally often", async () => {
  const clock = new FakeClock();
  const names = ["imports", "slices", "nodes", "properties"];
  const order: string[] = [];
  const busy = names.map(async (name) => {
    const turn = new Turn(clock);
    for (let i = 0; i < 20; i++) {
      if (turn.over) {
        await turn.pass();
        order.push(name);
      }
      clock.advance(1);
    }
  });
  let working = true;
  const all = Promise.all(busy).then(() => {
    working = false;
  });
  let longest = 0;
  while (working) {
    const before = clock.now();
    await setImmediate();
    longest = Math.max(longest, clock.now() - before);
  }
  await all;
  assert.equal(longest, 4);
  assert.deepEqual(order, Array.from({ length: 5 }, () => names).flat());
});
