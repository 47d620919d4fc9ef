import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forMany } from "../../test/generators/for-all.ts";
import { ReflectorStage } from "../../test/stages/reflector-stage.ts";

/** A reflection of at most five objects, with `a` and `b` at rest. */
async function small(): Promise<ReflectorStage> {
  const it = new ReflectorStage({ most: 5 });
  for (const name of ["a", "b"]) it.things.put(name, 1);
  await it.start();
  it.news();
  return it;
}

function flood(it: ReflectorStage, prefix: string, count: number): void {
  for (let i = 0; i < count; i++) it.things.put(`${prefix}${i}`, i);
}

function ebb(it: ReflectorStage, prefix: string, count: number): void {
  for (let i = 0; i < count; i++) it.things.delete(`${prefix}${i}`);
}

test("a flood during a watch stops the reader, and nothing that is known is removed", async () => {
  await using it = await small();
  flood(it, "flood-", 40);
  await it.pass(600_000);
  const news = it.news();
  assert.equal(it.believed.size, 5);
  assert.ok(it.believed.has("shop/a") && it.believed.has("shop/b"));
  assert.equal(news.filter((line) => line.startsWith("-")).length, 0);
  assert.ok(it.reflector.faults.get("too-many-objects"));
  assert.ok(news.filter((line) => line === "listing").length < 60, "it lists with backoff");
  ebb(it, "flood-", 40);
  it.things.put("c", 3);
  await it.pass(60_000);
  assert.deepEqual(it.believed, it.actual);
  assert.equal(it.news().at(-1), "watching");
});

for (const initialEvents of ["sent", "refused"] as const) {
  test(`a first list with too many objects is never complete, and its end recovers (initial events ${initialEvents})`, async () => {
    await using it = new ReflectorStage({ most: 5 });
    it.server.initialEvents = initialEvents;
    flood(it, "flood-", 12);
    await it.start();
    await it.pass(600_000);
    assert.equal(it.told.includes("listed"), false);
    assert.ok(it.believed.size <= 5);
    ebb(it, "flood-", 10);
    await it.pass(60_000);
    assert.deepEqual(it.believed, it.actual);
    assert.equal(it.told.at(-1), "watching");
  });
}

test("all objects may be replaced by as many as are allowed", async () => {
  await using it = await small();
  flood(it, "flood-", 9);
  await it.pass(60_000);
  ebb(it, "flood-", 9);
  for (const name of ["a", "b"]) it.things.delete(name);
  flood(it, "new-", 5);
  await it.pass(120_000);
  assert.deepEqual(it.believed, it.actual);
});

test("in any history of floods, known objects are bounded, a complete list's stay, and the end recovers", async () => {
  const step = fc.record({
    prefix: fc.constantFrom("p", "q", "r", "s"),
    count: fc.integer({ min: 0, max: 14 }),
    clears: fc.boolean(),
    fault: fc.option(fc.constantFrom("expired" as const, "garbage" as const, "reset" as const)),
  });
  await forMany(40, [fc.array(step, { maxLength: 8 })], async (steps) => {
    await using it = await small();
    for (const { prefix, count, clears, fault } of steps) {
      flood(it, prefix, count);
      if (fault !== null) it.server.disturb(fault);
      await it.pass(40_000);
      assert.ok(it.believed.size <= 10, `${it.believed.size} objects`);
      assert.ok(it.believed.has("shop/a") && it.believed.has("shop/b"));
      if (clears) ebb(it, prefix, count);
    }
    for (const prefix of ["p", "q", "r", "s"]) ebb(it, prefix, 14);
    await it.pass(120_000);
    assert.deepEqual(it.believed, it.actual);
  });
});
