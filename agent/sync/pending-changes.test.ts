import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ObjectKey } from "../../api/names.ts";
import { PendingChanges } from "./pending-changes.ts";

function pending(...keys: readonly ObjectKey[]): PendingChanges {
  const changes = new PendingChanges();
  for (const [at, key] of keys.entries()) changes.add(key, at);
  return changes;
}

const portion = { rulesOf: () => 10, perNamespace: 25 };

describe("a portion of changes", () => {
  test("has at most its rules of each namespace, the oldest changes first, and everything of others", () => {
    const changes = pending("a/1", "a/2", "a/3", "b/1", "a/4", "c/1");
    assert.deepEqual([...changes.take(portion)], ["a/1", "a/2", "b/1", "c/1"]);
    changes.add("d/1", 9);
    assert.deepEqual([...changes.take(portion)], ["a/3", "a/4", "d/1"]);
    assert.equal(changes.any, false);
  });

  test("always has one import of a namespace", () => {
    const changes = pending("a/1", "a/2");
    const one = { ...portion, perNamespace: 1 };
    assert.deepEqual([...changes.take(one)], ["a/1"]);
    assert.deepEqual([...changes.take(one)], ["a/2"]);
  });

  test("leaves the rest waiting, with its times", () => {
    const changes = pending("a/1", "a/2", "a/3");
    changes.take(portion);
    assert.deepEqual([changes.any, changes.has("a/1"), changes.has("a/3")], [true, false, true]);
    assert.deepEqual(changes.live(), [0, 1]);
    assert.equal(changes.oldest, 2);
    changes.take(portion);
    assert.deepEqual(changes.live(), [2]);
    assert.equal(changes.oldest, undefined);
  });
});

test("changes that failed are the oldest again, and live with the next that are accepted", () => {
  const changes = pending("a/1");
  changes.take();
  changes.failed();
  assert.deepEqual([changes.any, changes.oldest], [false, 0]);
  changes.add("a/2", 5);
  changes.take();
  assert.deepEqual(changes.live(), [0, 5]);
});

test("no more than 10,000 times are kept, and no import is lost", () => {
  const changes = new PendingChanges();
  for (let at = 0; at < 20_000; at++) changes.add(`a/${at >> 1}`, at);
  assert.equal(changes.take().size, 10_000);
  assert.equal(changes.live().length, 10_000);
});
