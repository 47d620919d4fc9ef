import assert from "node:assert/strict";
import { test } from "node:test";
import { Watchdog } from "./watchdog.ts";

const LIMITS = { silenceMs: 1_000, lifeMs: 3_000 };

test("a guest that prints regularly continues until its time limit", () => {
  const watchdog = new Watchdog(LIMITS, 500);
  for (let now = 500; now < 3_500; now += 900) {
    assert.equal(watchdog.verdict(now), undefined, String(now));
    watchdog.heard(now);
  }
  assert.equal(watchdog.verdict(3_499), undefined);
  assert.equal(watchdog.verdict(3_500), "no end within 3 s");
});

test("a guest that prints nothing is ended, from its start or its last output", () => {
  const watchdog = new Watchdog(LIMITS, 0);
  assert.equal(watchdog.verdict(999), undefined);
  assert.equal(watchdog.verdict(1_000), "silent for 1 s");
  watchdog.heard(1_000);
  assert.equal(watchdog.verdict(1_999), undefined);
  assert.equal(watchdog.verdict(2_000), "silent for 1 s");
});
