import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { FakeClock } from "../test/doubles/fake-clock.ts";
import type { Cancel } from "./clock.ts";
import { deadline } from "./deadline.ts";

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
