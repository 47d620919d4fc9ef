import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse } from "yaml";
import { forAll } from "../../test/generators/for-all.ts";
import { documentText, joined, painted, printable } from "./printable.ts";
import { PLAIN, sentence, table } from "./table.ts";

/** The operator's clipboard (OSC 52), a cleared line, a forged row, U+202E, a C1 control, a line separator, a tag character. */
const HOSTILE = "a\u001b]52;c;ZXZpbA==\u0007\u001b[2K\r\nforged\u202eb\u009b1m\u2028\u{e0041}";
const ESCAPED = String.raw`a\u001b]52;c;ZXZpbA==\u0007\u001b[2K\u000d\u000aforged\u202eb\u009b1m\u2028\udb40\udc41`;

test("what is inserted into a text is escaped, once, and letters of all languages stay", () => {
  const inner = printable`<${HOSTILE}>`;
  assert.equal(String(printable`${inner}\n${"été 日本 🚢"}\n`), `<${ESCAPED}>\nété 日本 🚢\n`);
  assert.equal(String(joined([inner, inner], printable`\n`)), `<${ESCAPED}>\n<${ESCAPED}>`);
  const [mark, sign] = ["\u0301", "\u26a0\ufe0f"];
  const text = printable`${`a\u3164\u115fe${mark.repeat(6)}${sign}`}`;
  assert.equal(String(text), String.raw`a\u3164\u115fe${mark.repeat(4)}\u0301\u0301${sign}`);
});

test("cells and coloured texts are escaped, and a row stays one line", () => {
  const text = String(table(["A", "B"], [[HOSTILE, { text: HOSTILE, style: "fault" }]]));
  assert.equal(text, `A${" ".repeat(ESCAPED.length + 2)}B\n${ESCAPED}   ${ESCAPED}\n`);
  const red = painted((_style, one) => `\u001b[31m${one}\u001b[0m`, "fault", HOSTILE);
  assert.equal(String(red), `\u001b[31m${ESCAPED}\u001b[0m`);
});

test("documents have no control characters but line feeds, and other programs read the same values", () =>
  forAll([fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" })], (key, value) => {
    if (!key.isWellFormed() || !value.isWellFormed() || key === "__proto__") return;
    const one = { [key]: [value, HOSTILE] };
    const json = String(documentText(one, "json"));
    const yaml = String(documentText(one, "yaml"));
    assert.deepEqual(JSON.parse(json), one);
    assert.deepEqual(parse(yaml), one);
    for (const text of [json, yaml]) assert.doesNotMatch(text, /(?!\n)[\p{C}\p{Zl}\p{Zp}]/u);
  }));

test("columns are as wide as their longest cell, and no line ends with spaces", () => {
  const rows = [
    ["cluster-1", "alive", ""],
    ["c2", { text: "stale", style: "fault" as const }, "30s"],
  ];
  assert.equal(
    String(table(["CLUSTER", "STATE", "SINCE"], rows)),
    "CLUSTER     STATE   SINCE\ncluster-1   alive\nc2          stale   30s\n",
  );
  // Colours do not count.
  const paint = (style: string, text: string) => `<${style}>${text}</>`;
  const painted = String(table(["A", "B"], [[{ text: "bad", style: "fault" }, "x"]], { paint }));
  assert.equal(painted, "<heading>A</>     <heading>B</>\n<fault>bad</>   x\n");
});

test("a column is as wide as terminals show its cells: letters of two columns, and marks of none", () => {
  const rows = [
    ["日本", "x"],
    ["e\u0301te\u0301", "x"],
  ];
  assert.equal(String(table(["A", "B"], rows)), "A      B\n日本   x\ne\u0301te\u0301    x\n");
  const narrow = { ...PLAIN, columns: 20 };
  // A line that is too long would be continued by the terminal, at its left edge.
  const lines = String(table(["A", "B"], [["x", "日".repeat(12)]], narrow)).split("\n");
  assert.deepEqual(lines, ["A   B", `x   ${"日".repeat(8)}`, `    ${"日".repeat(4)}`, ""]);
  const text = String(sentence(`one: ${"x ".repeat(8)}forged row`, narrow));
  assert.deepEqual(text.split("\n").slice(1), ["  x forged row"]);
});

test("wrapping needs time in proportion to a text of others, also of wide letters", () => {
  const text = "日本 ".repeat(50_000);
  const started = process.cpuUsage();
  assert.equal(String(sentence(text, PLAIN)), text);
  const shown = String(sentence(text, { ...PLAIN, columns: 80 }));
  assert.equal(shown.replaceAll(/\s/g, ""), text.replaceAll(" ", ""));
  // Of the processor, some 200 ms are usual. A square of the length takes many times the limit.
  assert.ok(process.cpuUsage(started).user < 5_000_000);
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

test("on a screen that is still too narrow, columns are nearer to each other", () => {
  const names = ["CONTEXT", "CONTROLLERS", "AGENTS"];
  const shown = (columns: number) =>
    String(table(names, [["cluster-1", "1/1", "2/2"]], { ...PLAIN, columns }));
  assert.equal(shown(32), "CONTEXT     CONTROLLERS   AGENTS\ncluster-1   1/1           2/2\n");
  assert.equal(shown(31), "CONTEXT    CONTROLLERS  AGENTS\ncluster-1  1/1          2/2\n");
  // Names stay in one piece, and the terminal breaks lines.
  for (const columns of [29, 10])
    assert.equal(shown(columns), "CONTEXT   CONTROLLERS AGENTS\ncluster-1 1/1         2/2\n");
});
