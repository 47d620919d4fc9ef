import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { changesOf, elementLines } from "./elements.ts";

const lines = (
  before: Parameters<typeof elementLines<string>>[2],
  after: Parameters<typeof elementLines<string>>[3],
) => elementLines("ip t", "s", before, after, (key) => key.toUpperCase());

describe("elements of a set", () => {
  test("only differences are written, deletions first", () => {
    assert.deepEqual(lines(new Set(["a", "b"]), new Set(["b", "c"])), [
      "delete element ip t s { A }",
      "add element ip t s { C }",
    ]);
    assert.deepEqual(lines(new Set(["a"]), new Set(["a"])), []);
  });

  test("an element with another comment is deleted and added", () => {
    assert.deepEqual(lines(new Map([["a", "x"]]), new Map([["a", "y"]])), [
      "delete element ip t s { A }",
      'add element ip t s { A comment "y" }',
    ]);
  });

  test("a line has at most 500 elements", () => {
    const many = new Set(Array.from({ length: 1001 }, (_, i) => `${i}`));
    const found = lines(new Set(), many).map((line) => line.split(",").length);
    assert.deepEqual(found, [500, 500, 1]);
  });

  test("elements that are not named are deleted only if the changes are complete", () => {
    const before = new Set(["a", "b"]);
    const wanted = new Map([
      ["a", true],
      ["c", true],
      ["d", false],
    ] as const);
    assert.deepEqual(changesOf(before, wanted, false), new Map([["c", true]]));
    const complete = new Map([
      ["c", true],
      ["b", false],
    ] as const);
    assert.deepEqual(changesOf(before, wanted, true), complete);
  });
});
