import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parse } from "yaml";
import { forAll } from "../../test/generators/for-all.ts";
import { documentText } from "./document.ts";
import { joined, painted, printable } from "./printable.ts";
import { table } from "./table.ts";

/** The operator's clipboard (OSC 52), a cleared line, a forged row, U+202E, a C1 control, a line separator, a tag character. */
const HOSTILE = "a\u001b]52;c;ZXZpbA==\u0007\u001b[2K\r\nforged\u202eb\u009b1m\u2028\u{e0041}";
const ESCAPED = String.raw`a\u001b]52;c;ZXZpbA==\u0007\u001b[2K\u000d\u000aforged\u202eb\u009b1m\u2028\udb40\udc41`;

test("what is inserted into a text is escaped, once, and letters of all languages stay", () => {
  const inner = printable`<${HOSTILE}>`;
  assert.equal(String(printable`${inner}\n${"été 日本 🚢"}\n`), `<${ESCAPED}>\nété 日本 🚢\n`);
  assert.equal(String(joined([inner, inner], printable`\n`)), `<${ESCAPED}>\n<${ESCAPED}>`);
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
