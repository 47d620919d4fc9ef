import assert from "node:assert/strict";
import { test } from "node:test";
import { table } from "./table.ts";

test("columns are as wide as their longest cell, and no line ends with spaces", () => {
  const rows = [
    ["cluster-1", "alive", ""],
    ["c2", { text: "stale", style: "fault" as const }, "30s"],
  ];
  assert.equal(
    table(["CLUSTER", "STATE", "SINCE"], rows),
    "CLUSTER     STATE   SINCE\ncluster-1   alive\nc2          stale   30s\n",
  );
});

test("colours do not change the columns", () => {
  const rows = [[{ text: "bad", style: "fault" as const }, "x"]];
  const paint = (style: string, text: string) => `<${style}>${text}</>`;
  assert.equal(
    table(["A", "B"], rows, paint),
    "<heading>A</>     <heading>B</>\n<fault>bad</>   x\n",
  );
});
