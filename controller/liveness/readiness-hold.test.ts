import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldStage } from "../../test/support/hold-stage.ts";
import { publishedAsReady } from "./collective-drop.ts";
import { PATIENCE_MS, WINDOW_MS } from "./readiness-hold.ts";

/** Five endpoints of two Services, all ready. */
function cluster(): HoldStage {
  const stage = new HoldStage();
  for (const n of [1, 2, 3]) stage.set("demo/a", `10.0.0.${n}`, "ready");
  for (const n of [4, 5]) stage.set("demo/b", `10.0.0.${n}`, "ready");
  return stage;
}

test("without an outage, nothing is held back: all may turn unready at once", () => {
  const stage = cluster();
  stage.hold.regained();
  stage.setAll("unready");
  assert.deepEqual(stage.published(), stage.truth());
  stage.clock.advance(60_000);
  assert.deepEqual([stage.published(), stage.told, stage.clock.pending], [stage.truth(), [], 0]);
});

test("a cluster that comes back from an outage with all endpoints unready says that they serve, for 30 s", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.clock.advance(60_000);
  stage.hold.regained();
  stage.setAll("unready");
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "held"]);
  stage.clock.advance(PATIENCE_MS + 1);
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "held"]);
  stage.clock.advance(WINDOW_MS - PATIENCE_MS - 2);
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "held"]);
  stage.clock.advance(1);
  assert.deepEqual(stage.words(), ["unready", "unready", "unready", "unready", "unready"]);
  assert.deepEqual(stage.told, ["held 4 of 5 in 2", "believed 5 of 5 in 2"]);
  assert.equal(stage.clock.pending, 0);
});

test("who is ready again is so at once", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.hold.regained();
  stage.setAll("unready");
  stage.clock.advance(10_000);
  stage.setAll("ready");
  assert.deepEqual(stage.published(), stage.truth());
  stage.clock.advance(WINDOW_MS);
  assert.deepEqual(stage.words(), ["ready", "ready", "ready", "ready", "ready"]);
});

test("one that drops alone is unready at once, and serves for two seconds more", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.hold.regained();
  stage.set("demo/a", "10.0.0.1", "unready");
  assert.deepEqual(stage.words(), ["held", "ready", "ready", "ready", "ready"]);
  stage.clock.advance(PATIENCE_MS - 1);
  assert.equal(stage.words()[0], "held");
  stage.clock.advance(1);
  assert.equal(stage.words()[0], "unready");
  assert.deepEqual(stage.told, []);
});

test("those who had to wait too long for others are held back with them", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.hold.regained();
  for (const n of [1, 2, 3]) stage.set("demo/a", `10.0.0.${n}`, "unready");
  stage.clock.advance(5000);
  assert.deepEqual(stage.words(), ["unready", "unready", "unready", "ready", "ready"]);
  stage.set("demo/b", "10.0.0.4", "unready");
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "ready"]);
});

test("one Service that fails as a whole is believed, and so is half of the cluster", () => {
  const stage = cluster();
  stage.set("demo/b", "10.0.0.4", "gone");
  stage.set("demo/b", "10.0.0.5", "gone");
  stage.hold.lost();
  stage.hold.regained();
  for (const n of [1, 2, 3]) stage.set("demo/a", `10.0.0.${n}`, "unready");
  stage.clock.advance(PATIENCE_MS);
  assert.deepEqual(stage.words(), ["unready", "unready", "unready"]);

  const half = cluster();
  half.hold.lost();
  half.hold.regained();
  half.set("demo/a", "10.0.0.1", "unready");
  half.set("demo/a", "10.0.0.2", "unready");
  half.set("demo/b", "10.0.0.4", "unready");
  half.clock.advance(PATIENCE_MS);
  assert.deepEqual(half.published(), half.truth());
});

test("scaling to zero right after an outage is believed at once: who is gone or terminates is never held back", () => {
  for (const fate of ["gone", "terminating"] as const) {
    const stage = cluster();
    stage.hold.lost();
    stage.hold.regained();
    stage.setAll(fate);
    assert.deepEqual([stage.published(), stage.told], [stage.truth(), []], fate);
  }
});

test("who was not ready before the outage is not held back", () => {
  const stage = cluster();
  stage.set("demo/a", "10.0.0.1", "unready");
  stage.hold.lost();
  stage.set("demo/a", "10.0.0.9", "ready");
  stage.hold.regained();
  stage.setAll("unready");
  assert.equal(stage.word("demo/a", "10.0.0.1"), "unready");
  assert.equal(stage.word("demo/a", "10.0.0.9"), "unready");
  assert.equal(stage.word("demo/b", "10.0.0.4"), "held");
});

test("a window does not begin anew with every drop, but with every word of contact", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.setAll("unready");
  stage.clock.advance(20_000);
  stage.set("demo/b", "10.0.0.4", "ready");
  stage.set("demo/b", "10.0.0.4", "unready");
  stage.clock.advance(10_000);
  assert.deepEqual(stage.published(), stage.truth());
});

test("what is told before contact counts as regained is in the window, and the window has an end", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.clock.advance(3_600_000);
  stage.setAll("unready");
  assert.equal(stage.word("demo/a", "10.0.0.1"), "held");
  stage.clock.advance(WINDOW_MS);
  assert.deepEqual(stage.published(), stage.truth());
});

test("while contact is still lost after a window, what was ready at its end is what was ready", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.set("demo/a", "10.0.0.1", "unready");
  stage.clock.advance(WINDOW_MS);
  stage.hold.regained();
  stage.setAll("unready");
  assert.equal(stage.word("demo/a", "10.0.0.1"), "unready");
  assert.equal(stage.word("demo/a", "10.0.0.2"), "held");
});

test("a control plane that falls silent again in the window does not make the unready the normal", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.hold.regained();
  stage.setAll("unready");
  stage.clock.advance(5000);
  stage.set("demo/a", "10.0.0.1", "ready");
  stage.hold.lost();
  stage.clock.advance(20_000);
  stage.hold.regained();
  stage.setAll("unready");
  stage.clock.advance(20_000);
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "held"]);
  stage.clock.advance(10_000);
  assert.deepEqual(stage.published(), stage.truth());
});

test("a controller that is started anew in the window goes on where its predecessor was", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.hold.regained();
  stage.setAll("unready");
  const before = publishedAsReady(stage.published());
  const next = new HoldStage();
  for (const n of [1, 2, 3]) next.set("demo/a", `10.0.0.${n}`, "unready");
  for (const n of [4, 5]) next.set("demo/b", `10.0.0.${n}`, "unready");
  next.hold.begin(before);
  assert.deepEqual(next.published(), stage.published());
  next.clock.advance(WINDOW_MS);
  assert.deepEqual(next.published(), next.truth());
});

test("who takes over while contact is still lost has a window of its own, and another one when it is regained", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.hold.begin(publishedAsReady(stage.published()));
  stage.clock.advance(WINDOW_MS);
  stage.hold.regained();
  stage.setAll("unready");
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "held"]);
  stage.clock.advance(WINDOW_MS);
  assert.deepEqual(stage.published(), stage.truth());
});

test("who takes over still knows of Services that nobody has published", () => {
  const stage = cluster();
  stage.hold.lost();
  const [published] = stage.published();
  assert.ok(published);
  stage.hold.begin(publishedAsReady([published]));
  stage.setAll("unready");
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "held"]);
});

test("when all are ready again, the drop is over: one that fails after that is believed", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.hold.regained();
  stage.setAll("unready");
  stage.clock.advance(5000);
  stage.setAll("ready");
  assert.deepEqual(stage.told, ["held 4 of 5 in 2", "believed 0 of 5 in 0"]);
  stage.set("demo/a", "10.0.0.1", "unready");
  stage.clock.advance(PATIENCE_MS);
  assert.deepEqual(stage.words(), ["unready", "ready", "ready", "ready", "ready"]);
  stage.setAll("unready");
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "held"]);
});

test("once stopped, it waits for nothing, whatever it is told", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.hold.stop();
  stage.hold.regained();
  stage.setAll("unready");
  assert.equal(stage.clock.pending, 0);
});
