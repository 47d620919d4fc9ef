import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Slots } from "./slots.ts";

/** Work that goes on until it is told how it ends. */
function stage(count: number) {
  const slots = new Slots(count);
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<string>>();
  const hold = (name: string, owner?: string) => {
    const end = Promise.withResolvers<string>();
    ends.set(name, end);
    return slots.hold(() => {
      begun.push(name);
      return end.promise;
    }, owner);
  };
  return { hold, begun, ends };
}

test("limits concurrent tasks; the others wait in order", async () => {
  const { hold, begun, ends } = stage(2);
  const held = ["a", "b", "c", "d"].map((name) => hold(name));
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

test("an owner alone leaves a fifth of the slots to others, and a slot that becomes free goes to the owner with the fewest", async () => {
  const { hold, begun, ends } = stage(20);
  const held = Array.from({ length: 40 }, (_, i) => hold(`a${i}`, "a"));
  assert.equal(begun.length, 16);
  held.push(...Array.from({ length: 40 }, (_, i) => hold(`b${i}`, "b")), hold("c", "c"));
  const isOf = (owner: string) => begun.filter((name) => name.startsWith(owner)).length;
  assert.deepEqual(["a", "b", "c"].map(isOf), [16, 4, 0]);
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.resolve("done");
    await setImmediate();
  };
  await end("a0");
  assert.deepEqual(["a", "b", "c"].map(isOf), [16, 4, 1]);
  for (let i = 1; i < 8; i++) await end(`a${i}`);
  assert.deepEqual(["a", "b", "c"].map(isOf), [17, 8, 1]);
  for (const { resolve } of ends.values()) resolve("end");
  await Promise.all(held);
  assert.equal(begun.length, 81);
});
