import assert from "node:assert/strict";
import { test } from "node:test";
import type { Family } from "../../api/address.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Pace } from "./pace.ts";

const HOUR = 3_600_000;

/** Lets families look for an hour; gives how often each did, and what part of the last half of it they looked. */
function lookedFor(durations: Readonly<Partial<Record<Family, number>>>) {
  const clock = new FakeClock();
  const pace = new Pace();
  const looks = { IPv4: 0, IPv6: 0 };
  let busy = 0;
  const look = (family: Family, ms: number): void => {
    looks[family]++;
    if (clock.now() >= HOUR / 2) busy += ms;
    clock.after(ms, () => clock.after(pace.pause(family, ms), () => look(family, ms)));
  };
  const { IPv4, IPv6 } = durations;
  if (IPv4 !== undefined) look("IPv4", IPv4);
  if (IPv6 !== undefined) look("IPv6", IPv6);
  clock.advance(HOUR);
  return { looks, percent: (busy / (HOUR / 2)) * 100 };
}

test("cheap looks come every five seconds", () => {
  const { looks } = lookedFor({ IPv4: 10, IPv6: 10 });
  for (const times of Object.values(looks)) assert.ok(times >= 718 && times <= 721, `${times}`);
});

test("looks of one family and of two take at most 0.7 % of the time, however long one takes", () => {
  for (const IPv4 of [1, 15, 35, 60, 400, 2_000, 6_000]) {
    const alone = lookedFor({ IPv4 });
    // Half an hour may have one look more in it than its share.
    const one = (IPv4 / (HOUR / 2)) * 100;
    assert.ok(alone.percent <= 0.7 + one, `${IPv4} ms: ${alone.percent} %`);
    for (const IPv6 of [10, 400]) {
      const { percent } = lookedFor({ IPv4, IPv6 });
      const two = one + (IPv6 / (HOUR / 2)) * 100;
      assert.ok(percent <= 0.7 + two, `${IPv4} and ${IPv6} ms: ${percent} %`);
    }
  }
});

test("a family that is quickly looked at does not look less often because the other is slow", () => {
  const { looks } = lookedFor({ IPv4: 6_000, IPv6: 15 });
  assert.ok(looks.IPv6 >= 700, `${looks.IPv6}`);
  assert.ok(looks.IPv4 >= 3, `${looks.IPv4}`);
});

test("what one family leaves of the share is the other's", () => {
  const alone = lookedFor({ IPv4: 400 }).looks.IPv4;
  const beside = lookedFor({ IPv4: 400, IPv6: 10 }).looks.IPv4;
  const equals = lookedFor({ IPv4: 400, IPv6: 400 }).looks.IPv4;
  assert.deepEqual([alone, beside, equals], [63, 46, 33]);
});
