import assert from "node:assert/strict";
import { test } from "node:test";
import type { Attempt } from "../test/connections/connections.ts";
import { type Change, followed } from "./followed.ts";

const attempt = (begun: number, answer: string | undefined): Attempt => ({
  begun,
  ended: begun + 1,
  answer,
  error: answer === undefined ? "timeout" : undefined,
});
const change = (place: string, begun: number, acknowledged: number): Change => ({
  place,
  begun,
  acknowledged,
});

test("The delay of a change is measured from its acknowledgement to the end of the first response", () => {
  const attempts = [attempt(0, "a"), attempt(12, "a"), attempt(14, "b"), attempt(16, "a")];
  assert.deepEqual(followed(attempts, [change("b", 5, 10)]), [{ first: 5, last: 6 }]);
});

test("A response of a later endpoint also proves earlier changes", () => {
  const attempts = [attempt(9, "a"), attempt(31, "c")];
  const changes = [change("b", 9, 10), change("c", 19, 20)];
  assert.deepEqual(followed(attempts, changes), [
    { first: 22, last: 0 },
    { first: 12, last: 0 },
  ]);
});

test("A response before the acknowledgement counts as 0, and one before the write does not count", () => {
  const before = attempt(1, "b");
  assert.deepEqual(followed([before, attempt(6, "b")], [change("b", 5, 10)]), [
    { first: 0, last: 0 },
  ]);
  assert.deepEqual(followed([before], [change("b", 5, 10)]), [undefined]);
});

test("Failed requests belong to no change", () => {
  assert.deepEqual(followed([attempt(12, undefined), attempt(13, "b")], [change("b", 5, 10)]), [
    { first: 4, last: 0 },
  ]);
});
