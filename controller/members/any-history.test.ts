import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forMany } from "../../test/generators/for-all.ts";
import { describeCluster, NOT_DESCRIBED } from "./damped-description.ts";
import { beginRotation, rotate } from "./rotate.ts";

test("in any history a cluster is in rotation if it is neither stale nor drained, and a window is of its direction, has begun, and follows no running one", async () => {
  const turn = fc.record({
    to: fc.constantFrom("alive" as const, "drained" as const, "stale" as const),
    seconds: fc.integer({ min: 0, max: 1200 }),
    restarts: fc.boolean(),
  });
  const windows = { drainWindow: 600, returnWindow: 30 };
  await forMany(Number(process.env.RUNS ?? 300), [fc.array(turn, { maxLength: 20 })], (history) => {
    const moment = { now: 0, today: Date.UTC(2026, 10, 24) };
    let memory = beginRotation({ state: "alive" }, moment);
    for (const { to, seconds, restarts } of history) {
      const { current: before } = memory;
      const from = to === "drained" ? moment.today : undefined;
      memory = rotate(memory, to === "stale", from, windows, moment);
      const { shift, state } = memory.current;
      assert.equal(state, to);
      if (shift !== undefined) {
        assert.equal(shift.direction, state === "alive" ? "returning" : "draining");
        assert.ok(shift.from <= moment.today);
      }
      const old = before.shift;
      const isRunning = old !== undefined && moment.today < old.from + old.length;
      if (isRunning && state !== before.state) assert.equal(shift, undefined);
      if (state === before.state && to !== "stale") assert.deepEqual(shift, old);
      const restarted = beginRotation(memory.current, moment);
      assert.deepEqual(restarted.current, memory.current, "a restart changes nothing");
      if (restarts) memory = restarted;
      moment.now += seconds * 1000;
      moment.today += seconds * 1000;
    }
  });
});

test("a cluster that invents properties without end causes few changes", () => {
  let memory = NOT_DESCRIBED;
  let changes = 0;
  const state = (names: readonly string[]): void => {
    const before = memory;
    const properties = Object.fromEntries(names.map((name) => [name, "x"]));
    memory = describeCluster(memory, { properties }, 0);
    changes += Number(memory !== before);
  };
  for (let i = 0; i < 300; i++) state(Array.from({ length: i }, (_, j) => `q${j}`));
  for (let i = 0; i < 1000; i++) state([`p${i}`]);
  assert.ok(changes < 40, `${changes}`);
});
