import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldStage } from "../../test/stages/hold-stage.ts";
import { publishedAsReady } from "./mass-unreadiness.ts";
import { PATIENCE_MS, WINDOW_MS } from "./readiness-hold.ts";

/** Five endpoints of two Services, all ready. */
function cluster(): HoldStage {
  const stage = new HoldStage();
  for (const n of [1, 2, 3]) stage.set("demo/a", `10.0.0.${n}`, "ready");
  for (const n of [4, 5]) stage.set("demo/b", `10.0.0.${n}`, "ready");
  return stage;
}

/** The same cluster, of which contact was lost and is regained. */
function afterOutage(): HoldStage {
  const stage = cluster();
  stage.hold.lost();
  stage.hold.regained();
  return stage;
}

test("without an outage nothing is held back, even if all endpoints become unready at once", () => {
  const stage = cluster();
  stage.hold.regained();
  stage.setAll("unready");
  assert.deepEqual(stage.published(), stage.truth());
  stage.clock.advance(60_000);
  assert.deepEqual(
    [stage.published(), stage.reported, stage.clock.pending],
    [stage.truth(), [], 0],
  );
});

test("after an outage, endpoints that are all unready are published as serving for 30 s", () => {
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
  assert.deepEqual(stage.reported, ["held 4 of 5 in 2", "released 5 of 5 in 2"]);
  assert.equal(stage.clock.pending, 0);
});

test("an endpoint that is ready again is published at once", () => {
  const stage = afterOutage();
  stage.setAll("unready");
  stage.clock.advance(10_000);
  stage.setAll("ready");
  assert.deepEqual(stage.published(), stage.truth());
  stage.clock.advance(WINDOW_MS);
  assert.deepEqual(stage.words(), ["ready", "ready", "ready", "ready", "ready"]);
});

test("an endpoint that becomes unready alone is unready at once, and serving for two seconds", () => {
  const stage = afterOutage();
  stage.set("demo/a", "10.0.0.1", "unready");
  assert.deepEqual(stage.words(), ["held", "ready", "ready", "ready", "ready"]);
  stage.clock.advance(PATIENCE_MS - 1);
  assert.equal(stage.words()[0], "held");
  stage.clock.advance(1);
  assert.equal(stage.words()[0], "unready");
  assert.deepEqual(stage.reported, []);
});

test("endpoints are held back with the others, even after their own two seconds", () => {
  const stage = afterOutage();
  for (const n of [1, 2, 3]) stage.set("demo/a", `10.0.0.${n}`, "unready");
  stage.clock.advance(5000);
  assert.deepEqual(stage.words(), ["unready", "unready", "unready", "ready", "ready"]);
  stage.set("demo/b", "10.0.0.4", "unready");
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "ready"]);
});

test("the failure of one Service, or of half of the cluster, is published", () => {
  const stage = cluster();
  stage.set("demo/b", "10.0.0.4", "gone");
  stage.set("demo/b", "10.0.0.5", "gone");
  stage.hold.lost();
  stage.hold.regained();
  for (const n of [1, 2, 3]) stage.set("demo/a", `10.0.0.${n}`, "unready");
  stage.clock.advance(PATIENCE_MS);
  assert.deepEqual(stage.words(), ["unready", "unready", "unready"]);

  const half = afterOutage();
  half.set("demo/a", "10.0.0.1", "unready");
  half.set("demo/a", "10.0.0.2", "unready");
  half.set("demo/b", "10.0.0.4", "unready");
  half.clock.advance(PATIENCE_MS);
  assert.deepEqual(half.published(), half.truth());
});

test("endpoints that are gone or terminating are never held back", () => {
  for (const fate of ["gone", "terminating"] as const) {
    const stage = afterOutage();
    stage.setAll(fate);
    assert.deepEqual([stage.published(), stage.reported], [stage.truth(), []], fate);
  }
});

test("endpoints that were unready before the outage are not held back", () => {
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

test("regained contact restarts the window, unready endpoints do not", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.setAll("unready");
  stage.clock.advance(20_000);
  stage.set("demo/b", "10.0.0.4", "ready");
  stage.set("demo/b", "10.0.0.4", "unready");
  stage.clock.advance(10_000);
  assert.deepEqual(stage.published(), stage.truth());
});

test("an update before contact is regained opens a window that ends", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.clock.advance(3_600_000);
  stage.setAll("unready");
  assert.equal(stage.word("demo/a", "10.0.0.1"), "held");
  stage.clock.advance(WINDOW_MS);
  assert.deepEqual(stage.published(), stage.truth());
});

test("if contact is still lost after a window, the endpoints that are ready at its end count", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.set("demo/a", "10.0.0.1", "unready");
  stage.clock.advance(WINDOW_MS);
  stage.hold.regained();
  stage.setAll("unready");
  assert.equal(stage.word("demo/a", "10.0.0.1"), "unready");
  assert.equal(stage.word("demo/a", "10.0.0.2"), "held");
});

test("a second outage within the window does not make unready endpoints count as normal", () => {
  const stage = afterOutage();
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

test("a controller that restarts within the window holds back the same endpoints", () => {
  const stage = afterOutage();
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

test("a new leader has a window, and another one when contact is regained", () => {
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

test("a new leader also holds back endpoints of unpublished Services", () => {
  const stage = cluster();
  stage.hold.lost();
  const [published] = stage.published();
  assert.ok(published);
  stage.hold.begin(publishedAsReady([published]));
  stage.setAll("unready");
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "held"]);
});

test("after all endpoints have recovered, a later failure is published", () => {
  const stage = afterOutage();
  stage.setAll("unready");
  stage.clock.advance(5000);
  stage.setAll("ready");
  assert.deepEqual(stage.reported, ["held 4 of 5 in 2", "released 0 of 5 in 0"]);
  stage.set("demo/a", "10.0.0.1", "unready");
  stage.clock.advance(PATIENCE_MS);
  assert.deepEqual(stage.words(), ["unready", "ready", "ready", "ready", "ready"]);
  stage.setAll("unready");
  assert.deepEqual(stage.words(), ["held", "held", "held", "held", "held"]);
});

test("after stop no timer remains", () => {
  const stage = cluster();
  stage.hold.lost();
  stage.hold.stop();
  stage.hold.regained();
  stage.setAll("unready");
  assert.equal(stage.clock.pending, 0);
});
