import assert from "node:assert/strict";
import { test } from "node:test";
import { Reflection } from "../../test/support/reflection.ts";

/** A reflector that watches some objects, and has for long. */
async function watching(): Promise<Reflection> {
  const it = new Reflection();
  for (let i = 0; i < 5; i++) it.server.store.put(`o${i}`, i);
  await it.start();
  await it.pass(20_000);
  return it;
}

test("after an outage, a history that is gone is listed at once", async () => {
  const it = await watching();
  it.server.disturb("reset");
  for (let i = 0; i < 6; i++) it.server.faults.push({ kind: "refused" });
  await it.pass(10_000);
  assert.equal(it.state, "unreachable");
  it.server.store.delete("o2");
  it.server.store.compact();
  while (!it.told.includes("expired")) await it.pass(10);
  await it.settle();
  assert.equal(it.state, "watching");
  assert.deepEqual(it.believed, it.actual);
  await it.stop();
});

test("a history that is gone again and again is listed ever more rarely", async () => {
  const it = await watching();
  it.server.asked.splice(0);
  for (let second = 0; second < 60; second++) {
    it.server.disturb("expired");
    await it.pass(1000);
  }
  const lists = it.server.asked.filter((path) => path.includes("sendInitial")).length;
  assert.ok(lists >= 4 && lists <= 8, `${lists}`);
  await it.stop();
});
