import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../test/doubles/fake-clock.ts";
import { systemClock } from "./clock.ts";

test("the system clock never goes back", () => {
  const readings = Array.from({ length: 1000 }, () => systemClock.now());
  assert.ok(readings.every((now, i) => now >= (readings[i - 1] ?? 0)));
});

test("the system clock runs due timers, and no cancelled ones", async () => {
  const ran: string[] = [];
  const cancel = systemClock.after(0, () => ran.push("cancelled"));
  cancel();
  await new Promise<void>((resolve) => {
    systemClock.after(1, () => {
      ran.push("due");
      resolve();
    });
  });
  cancel();
  assert.deepEqual(ran, ["due"]);
});

test("the system clock runs no timer early, measured by itself", async () => {
  const waits = Array.from({ length: 200 }, async (_, i) => {
    const ms = 1 + i * 0.1;
    const due = systemClock.now() + ms;
    await new Promise<void>((resolve) => systemClock.after(ms, resolve));
    return systemClock.now() - due;
  });
  const early = (await Promise.all(waits)).filter((late) => late < 0);
  assert.deepEqual(early, []);
});

test("a wait over Node's longest timer does not fire immediately", async () => {
  let ran = false;
  const cancel = systemClock.after(2 ** 40, () => {
    ran = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 5));
  cancel();
  assert.equal(ran, false);
});

test("the fake clock runs timers in order of time, also those started meanwhile", () => {
  const clock = new FakeClock();
  const ran: string[] = [];
  clock.after(20, () => ran.push(`late ${clock.now()}`));
  clock.after(10, () => {
    ran.push(`early ${clock.now()}`);
    clock.after(5, () => ran.push(`nested ${clock.now()}`));
  });
  clock.after(31, () => ran.push("not yet"));
  clock.after(1, () => ran.push("cancelled"))();
  clock.advance(30);
  assert.deepEqual(ran, ["early 10", "nested 15", "late 20"]);
  assert.deepEqual([clock.now(), clock.pending, clock.next], [30, 1, 1]);
});
