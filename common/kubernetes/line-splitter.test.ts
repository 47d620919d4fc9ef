import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { LineSplitter } from "./line-splitter.ts";

/** The lines that come out of these chunks. */
function linesOf(chunks: readonly Uint8Array[], longest = 1000): string[] {
  const splitter = new LineSplitter(longest);
  const lines: string[] = [];
  for (const chunk of chunks) {
    for (const line of splitter.push(chunk)) lines.push(String(Buffer.from(line)));
  }
  return lines;
}

/** The bytes of a text, cut wherever `cuts` says. */
function cut(text: string, cuts: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const borders = [0, ...cuts.map((at) => at % (bytes.length + 1)), bytes.length];
  borders.sort((a, b) => a - b);
  return borders.slice(1).map((end, i) => bytes.subarray(borders[i], end));
}

test("lines are complete wherever the chunks end, also inside characters", async () => {
  const line = fc.string({ unit: "binary" }).map((text) => text.replaceAll("\n", "\u2028"));
  await forAll([fc.array(line), line, fc.array(fc.nat())], (lines, rest, cuts) => {
    const text = `${lines.map((one) => `${one}\n`).join("")}${rest}`;
    // Lone surrogates are no UTF-8: compare what UTF-8 makes of them.
    const expected = lines.map((one) => Buffer.from(one).toString());
    assert.deepEqual(linesOf(cut(text, cuts), 1_000_000), expected);
  });
});

test("only a line feed ends a line: JSON may contain Unicode's other line ends", () => {
  assert.deepEqual(linesOf([Buffer.from("a\u2028b\u2029c\u0085d\r\n")]), [
    "a\u2028b\u2029c\u0085d\r",
  ]);
});

test("a line that is too long is garbage, whether it has ended or not", () => {
  assert.deepEqual(linesOf([Buffer.from("12345\n")], 5), ["12345"]);
  const garbage = { reason: "garbage" };
  assert.throws(() => linesOf([Buffer.from("123456\n")], 5), garbage);
  assert.throws(() => linesOf([Buffer.from("123"), Buffer.from("456")], 5), garbage);
});
