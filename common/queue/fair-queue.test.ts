import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { FairQueue } from "./fair-queue.ts";

const ANY = () => true;

function drained(queue: FairQueue<string>): string[] {
  const keys: string[] = [];
  for (let next = queue.take(ANY); next !== undefined; next = queue.take(ANY)) keys.push(next.key);
  return keys;
}

test("sources take turns, and the source without a name has every second turn", () => {
  const queue = new FairQueue<string>();
  for (const source of ["c2", "c3", ""]) {
    for (let i = 0; i < 3; i++) queue.add(`${source || "own"}-${i}`, source, 0);
  }
  assert.deepEqual(drained(queue), [
    ...["own-0", "c2-0", "own-1", "c3-0", "own-2"],
    ...["c2-1", "c3-1", "c2-2", "c3-2"],
  ]);
});

for (const [who, flooding, calm] of [
  ["a source", "c2", "c3"],
  ["an owner of its keys", "", ""],
] as const)
  test(`${who} that adds without end delays another by a turn`, () => {
    const queue = new FairQueue<string>((key) => key.slice(0, 5));
    for (let i = 0; i < 10_000; i++) queue.add(`flood-${i}`, flooding, 0);
    queue.add("calm", calm, 5);
    assert.ok([0, 1].some(() => queue.take(ANY)?.key === "calm"));
  });

test("a key of several sources is taken once, at the first turn, and is as old as when it was added first", () => {
  const queue = new FairQueue<string>();
  for (let i = 0; i < 100; i++) queue.add(`flood-${i}`, "c2", 1);
  queue.add("shared", "c2", 2);
  queue.add("shared", "", 3);
  assert.deepEqual(queue.take(ANY), { key: "shared", source: "", since: 2 });
  assert.equal(drained(queue).includes("shared"), false);
});

test("in any history every key is taken once for each time that it began to wait", async () => {
  const step = fc.oneof(
    fc.record({ key: fc.nat(5), source: fc.constantFrom("", "c2", "c3") }),
    fc.constant("take" as const),
  );
  await forAll([fc.array(step)], (steps) => {
    const queue = new FairQueue<number>();
    const waiting = new Set<number>();
    for (const one of steps) {
      if (one === "take") {
        const next = queue.take(ANY);
        assert.equal(next === undefined, waiting.size === 0);
        if (next !== undefined) assert.ok(waiting.delete(next.key));
      } else {
        queue.add(one.key, one.source, 0);
        waiting.add(one.key);
      }
      assert.equal(queue.size, waiting.size);
    }
  });
});
