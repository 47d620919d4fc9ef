import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Reflection } from "../../test/support/reflection.ts";

for (const initialEvents of ["sent", "refused"] as const) {
  test(`objects that come all at once are told in turns with others, initial events ${initialEvents}`, async () => {
    const it = new Reflection();
    for (let i = 0; i < 40; i++) it.server.store.put(`o${i}`, i);
    it.server.initialEvents = initialEvents;
    it.server.page = 100;
    it.server.cut = 1_000_000;
    // Each takes 2 of the 5 milliseconds of a turn.
    it.onChanged = () => it.clock.advance(2);
    it.reflector.start();
    const told: number[] = [];
    while (it.believed.size < 40) {
      const before = it.believed.size;
      await setImmediate();
      told.push(it.believed.size - before);
    }
    assert.equal(Math.max(...told), 3);
    await it.stop();
  });
}
