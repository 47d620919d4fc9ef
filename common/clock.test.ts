import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import fc from "fast-check";
import { FakeClock } from "../test/doubles/fake-clock.ts";
import { forAll } from "../test/generators/for-all.ts";
import { backoff } from "./backoff.ts";
import { type Cancel, deadline, systemClock } from "./clock.ts";

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

describe("a deadline", () => {
  let clock: FakeClock;
  let missed: number;
  let cancel: Cancel;
  beforeEach(() => {
    clock = new FakeClock();
    missed = 0;
    cancel = deadline(clock, 30_000, () => missed++);
  });

  test("is missed when its time is up, once", () => {
    clock.advance(29_999);
    assert.equal(missed, 0);
    clock.advance(60_000);
    assert.equal(missed, 1);
  });

  test("that is met is not missed", () => {
    clock.advance(29_999);
    cancel();
    clock.advance(60_000);
    assert.equal(missed, 0);
  });

  test("is not missed by a suspended process if the answer is there when it continues", () => {
    clock.standStill(60_000);
    assert.equal(missed, 0);
    clock.advance(10);
    cancel();
    clock.advance(60_000);
    assert.deepEqual([missed, clock.pending], [0, 0]);
  });

  test("is missed soon after a suspended process continues if there is still no answer", () => {
    clock.standStill(60_000);
    clock.standStill(60_000);
    assert.equal(missed, 0);
    clock.advance(5_000);
    assert.equal(missed, 1);
  });

  test("that expires a little late in a busy process is missed", () => {
    clock.standStill(30_900);
    assert.equal(missed, 1);
  });
});

const bounds = { min: 100, max: 30_000 };

test("waits double from the minimum to the maximum", () => {
  const waits = [1, 2, 3, 8, 9, 50].map((failures) => backoff(failures, bounds, 0));
  assert.deepEqual(waits, [100, 200, 400, 12_800, 15_000, 15_000]);
});

test("the upper half of a wait is random", () => {
  assert.equal(backoff(1, bounds, 0.5), 150);
  assert.equal(backoff(50, bounds, 0.999_999) > 29_999, true);
});

test("no wait is ever outside its bounds, however many failures", async () => {
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  await forAll([fc.integer({ min: 1, max: 5000 }), random], (failures, chance) => {
    const wait = backoff(failures, bounds, chance);
    assert.ok(wait >= bounds.min && wait <= bounds.max);
  });
});
