import assert from "node:assert/strict";
import { test } from "node:test";
import { atMost, atMostMs, atMostTimes, missedIn, type Section, tableOf } from "./table.ts";

const SECTIONS: readonly Section[] = [
  { title: "one", rows: [{ what: "long thing", ours: "12 ms", ...atMostTimes(1.3, 1.31) }] },
  { title: "two", rows: [{ what: "b", ours: "5 ms", target: atMostMs("p99", 5, 5) }] },
];

test("A table is aligned under headings, and marks missed targets", () => {
  assert.equal(
    tableOf(SECTIONS),
    [
      "### one",
      "",
      "| what       | ours  | beside it | ratio | target   | met    |",
      "| ---------- | ----- | --------- | ----: | -------- | ------ |",
      "| long thing | 12 ms |           |  1.31 | <= 1.3 x | **no** |",
      "",
      "### two",
      "",
      "| what | ours | beside it | ratio | target      | met |",
      "| ---- | ---- | --------- | ----: | ----------- | --- |",
      "| b    | 5 ms |           |       | p99 <= 5 ms | yes |",
      "",
    ].join("\n"),
  );
});

test("Missed targets are listed again, with their table", () => {
  assert.deepEqual(missedIn(SECTIONS), ["one: long thing: 12 ms, not <= 1.3 x"]);
});

test("A target of one figure has no name", () => {
  assert.deepEqual(atMost("", 80, "MB", 81), { text: "<= 80 MB", met: false });
});
