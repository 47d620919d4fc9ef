import assert from "node:assert/strict";
import { test } from "node:test";
import { longestTimeout, ToolTimeout } from "./tool-timeout.ts";

test("the longest timeout of calls under way is known until they end", () => {
  const timeout = new ToolTimeout(1e9);
  assert.equal(longestTimeout(), 0);
  const [short, long] = [timeout.begin(), timeout.begin(2e9)];
  assert.equal(longestTimeout(), 2e9);
  long.ended();
  assert.equal(longestTimeout(), 1e9);
  short.failed();
  assert.equal(longestTimeout(), 0);
});

test("calls may take twice as long after each that worked and has not ended in time, and as at first after a short one", () => {
  const timeout = new ToolTimeout(60_000);
  for (const ms of [60_000, 120_000, 240_000]) {
    const call = timeout.begin();
    assert.equal(call.ms, ms);
    call.expired(ms / 2);
  }
  timeout.begin().failed();
  assert.equal(timeout.begin().ms, 480_000, "a failure says nothing about the time");
  assert.equal(timeout.begin(90_000).ms, 720_000, "a call that usually takes longer");
  timeout.begin().ended();
  assert.equal(timeout.begin().ms, 60_000);
});

test("calls that hang without using a processor may not take longer", () => {
  const timeout = new ToolTimeout(60_000);
  timeout.begin().expired(30);
  assert.equal(timeout.begin().ms, 60_000);
});

test("no timeout is longer than a timer", () => {
  const timeout = new ToolTimeout(60_000);
  for (let i = 0; i < 100; i++) timeout.begin().expired(Number.POSITIVE_INFINITY);
  assert.equal(timeout.begin().ms, 2 ** 31 - 1);
});
