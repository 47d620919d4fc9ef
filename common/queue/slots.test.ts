import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Slots } from "./slots.ts";

/** Work that goes on until it is told how it ends. */
function stage(count: number) {
  const slots = new Slots(count);
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const hold = (name: string) => {
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    return slots.hold(() => {
      begun.push(name);
      return end.promise;
    });
  };
  return { hold, begun, ends };
}

test("limits concurrent tasks; the others wait in order", async () => {
  const { hold, begun, ends } = stage(2);
  const held = ["a", "b", "c", "d"].map(hold);
  await setImmediate();
  assert.deepEqual(begun, ["a", "b"]);
  ends.get("b")?.resolve("done");
  // Who comes as a place is given up does not overtake whoever waits for it.
  held.push(hold("e"));
  assert.equal(await held[1], "done");
  await setImmediate();
  assert.deepEqual(begun, ["a", "b", "c"]);
  for (const { resolve } of ends.values()) resolve("end");
  await Promise.all(held);
  assert.deepEqual(begun, ["a", "b", "c", "d", "e"]);
});

test("a failed task frees its slot, too", async () => {
  const { hold, begun, ends } = stage(1);
  const [first, second] = [hold("a"), hold("b")];
  ends.get("a")?.reject(new Error("no"));
  await assert.rejects(first, /no/);
  ends.get("b")?.resolve("done");
  assert.equal(await second, "done");
  assert.deepEqual(begun, ["a", "b"]);
});
