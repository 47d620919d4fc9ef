import assert from "node:assert/strict";
import { test } from "node:test";
import { PLAIN, table } from "./table.ts";

test("columns are as wide as their longest cell, and no line ends with spaces", () => {
  const rows = [
    ["cluster-1", "alive", ""],
    ["c2", { text: "stale", style: "fault" as const }, "30s"],
  ];
  assert.equal(
    String(table(["CLUSTER", "STATE", "SINCE"], rows)),
    "CLUSTER     STATE   SINCE\ncluster-1   alive\nc2          stale   30s\n",
  );
});

test("colours do not change the columns", () => {
  const rows = [[{ text: "bad", style: "fault" as const }, "x"]];
  const paint = (style: string, text: string) => `<${style}>${text}</>`;
  assert.equal(
    String(table(["A", "B"], rows, { paint })),
    "<heading>A</>     <heading>B</>\n<fault>bad</>   x\n",
  );
});

test("on a narrow screen the widest columns are wrapped, at spaces, and the others are not", () => {
  const rows = [["c1", "one two three four five six seven", "x".repeat(50)]];
  const text = String(table(["A", "B", "C"], rows, { ...PLAIN, columns: 45 }));
  assert.equal(
    text,
    [
      "A    B                     C",
      "c1   one two three four    xxxxxxxxxxxxxxxxxx",
      "     five six seven        xxxxxxxxxxxxxxxxxx",
      "                           xxxxxxxxxxxxxx",
      "",
    ].join("\n"),
  );
});
