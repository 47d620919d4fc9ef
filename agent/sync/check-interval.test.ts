import assert from "node:assert/strict";
import { test } from "node:test";
import type { Family } from "../../api/address.ts";
import { FakeClock } from "../../test/doubles/fake-clock.ts";
import type { CheckScope, Reading } from "../backends/backend.ts";
import { CheckInterval } from "./check-interval.ts";

const HOUR = 3_600_000;

/** Checks the families for an hour; returns the number of checks of each, and their share of the last half hour. */
function checksOf(
  durations: Readonly<Partial<Record<Family, number>>>,
  reading: Reading = "routine",
  scope: CheckScope = "all",
) {
  const clock = new FakeClock();
  const interval = new CheckInterval();
  const checks = { IPv4: 0, IPv6: 0 };
  let busy = 0;
  const check = (family: Family, ms: number): void => {
    checks[family]++;
    if (clock.now() >= HOUR / 2) busy += ms;
    clock.after(ms, () =>
      clock.after(interval.after(family, ms, reading, scope), () => check(family, ms)),
    );
  };
  const { IPv4, IPv6 } = durations;
  if (IPv4 !== undefined) check("IPv4", IPv4);
  if (IPv6 !== undefined) check("IPv6", IPv6);
  clock.advance(HOUR);
  return { checks, percent: (busy / (HOUR / 2)) * 100 };
}

/** Percent of a processor that checks may take: more, rather than come more rarely than every ten seconds, or every two for what is gone. */
for (const [scope, slow, most] of [
  ["all", 35, 2],
  ["all", 600, 5],
  ["gone", 600, 4],
] as const) {
  test(`checks of ${scope} that take up to ${slow} ms take at most ${most} % of a processor, of one family or two`, () => {
    for (const IPv4 of [1, 15, 35, 60, 290, 600].filter((ms) => ms <= slow)) {
      const alone = checksOf({ IPv4 }, "routine", scope);
      // Half an hour may contain one check more than its share.
      const one = (IPv4 / (HOUR / 2)) * 100;
      assert.ok(alone.percent <= most + one, `${IPv4} ms: ${alone.percent} %`);
      for (const IPv6 of [10, 35]) {
        const { percent } = checksOf({ IPv4, IPv6 }, "routine", scope);
        const two = one + (IPv6 / (HOUR / 2)) * 100;
        assert.ok(percent <= most + two, `${IPv4} and ${IPv6} ms: ${percent} %`);
      }
    }
  });
}

test("where a check takes 600 ms, all drift is found within 12 s", () => {
  const { checks } = checksOf({ IPv4: 600 });
  assert.ok(checks.IPv4 >= HOUR / 12_000, `${checks.IPv4}`);
});

test("what is gone is looked for every 2 s at least, where that takes 60 ms, whatever checks of everything take", () => {
  const interval = new CheckInterval();
  for (let i = 0; i < 3; i++) interval.after("IPv4", 2_000, "routine", "all");
  const waits = [1, 2, 3].map(() => interval.after("IPv4", 60, "routine", "gone"));
  assert.deepEqual(waits, [1_000, 2_000, 2_000]);
});

test("while other programs change rules, slower checks run within 12 s", () => {
  const { checks } = checksOf({ IPv4: 280, IPv6: 280 }, "prompted");
  for (const times of Object.values(checks)) assert.ok(times >= HOUR / 12_000, `${times}`);
});

test("the kernel is asked every second whether something has changed", () => {
  const { checks } = checksOf({ IPv4: 1 }, "none");
  assert.ok(checks.IPv4 >= HOUR / 1_002, `${checks.IPv4}`);
});

test("changes by other programs every ten seconds do not make slow readings more frequent than their share", () => {
  const interval = new CheckInterval();
  const waits = [1, 2, 3].map(() => {
    const next = interval.after("IPv4", 1_200, "prompted");
    for (let i = 0; i < 9; i++) interval.after("IPv4", 1, "none");
    return next;
  });
  assert.deepEqual(waits, [1_000, 22_800, 22_800]);
});

test("a family with fast checks is not checked less often because the other is slow", () => {
  const { checks } = checksOf({ IPv4: 6_000, IPv6: 15 });
  assert.ok(checks.IPv6 >= 700, `${checks.IPv6}`);
});

test("the slowest checks run once a minute", () => {
  const { checks } = checksOf({ IPv4: 6_000 });
  assert.ok(Math.abs(checks.IPv4 - HOUR / 66_000) <= 3, `${checks.IPv4}`);
});

test("one family can use the share that the other does not need", () => {
  const alone = checksOf({ IPv4: 90 }).checks.IPv4;
  const beside = checksOf({ IPv4: 90, IPv6: 5 }).checks.IPv4;
  const equals = checksOf({ IPv4: 90, IPv6: 90 }).checks.IPv4;
  assert.ok(alone > beside && beside > equals, `${alone}, ${beside}, ${equals}`);
});

test("one slow check does not delay the next one", () => {
  const interval = new CheckInterval();
  assert.equal(interval.after("IPv4", 3_000, "routine"), 2_000, "the first check of a process");
  assert.equal(interval.after("IPv4", 10, "routine"), 2_000);
  assert.equal(
    interval.after("IPv4", 600_000, "routine"),
    2_000,
    "the process was stopped meanwhile",
  );
  assert.equal(interval.after("IPv4", 10, "routine"), 2_000);
  interval.after("IPv4", 70, "routine");
  assert.ok(interval.after("IPv4", 70, "routine") > 2_000, "two in a row");
});
