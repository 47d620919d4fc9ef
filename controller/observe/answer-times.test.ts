import assert from "node:assert/strict";
import { test } from "node:test";
import { AnswerTimes } from "./answer-times.ts";

test("the median is that of the last nine answers of one API server; failed requests do not count", () => {
  const times = new AnswerTimes();
  const asked = (member: string, seconds: number, result = "200") =>
    times.asked("peer", member, { verb: "watch", result, seconds });
  assert.equal(times.median("c2", false), undefined);
  for (const seconds of [9, 9, 9, 9, 9]) asked("c2", seconds);
  for (const seconds of [0.001, 0.002, 0.003, 0.004, 0.005, 0.006]) asked("c2", seconds);
  asked("c2", 30, "stalled");
  asked("c3", 0.2);
  assert.equal(times.median("c2", false), 5);
  assert.equal(times.median("c3", false), 200);
  assert.equal(times.median("c1", true), undefined);
  times.asked("own", "", { verb: "apply", result: "200", seconds: 0.004 });
  assert.equal(times.median("c1", true), 4);
});

test("with a hub, all registries are on its API server", () => {
  const times = new AnswerTimes();
  times.asked("own", "", { verb: "list", result: "200", seconds: 0.001 });
  times.asked("registry", "", { verb: "list", result: "200", seconds: 0.05 });
  for (const isOwn of [true, false]) assert.equal(times.median("c1", isOwn), 50);
});
