import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { parseJsonText } from "./json-text.ts";

test("valid JSON is parsed like JSON.parse does", () =>
  forAll([fc.json({ maxDepth: 6 })], (text) => {
    assert.deepEqual(parseJsonText(text, 1_000_000, 20), JSON.parse(text));
  }));

test("a duplicate key rejects the text, wherever and however it is spelled", async () => {
  const twice = fc
    .tuple(fc.string(), fc.jsonValue(), fc.jsonValue(), fc.nat(4))
    .map(([name, a, b, depth]) => {
      const object = `{${JSON.stringify(name)}:${JSON.stringify(a)}, "${escaped(name)}" :${JSON.stringify(b)}}`;
      return `${"[".repeat(depth)}${object}${"]".repeat(depth)}`;
    });
  await forAll([twice], (text) => {
    assert.doesNotThrow(() => JSON.parse(text));
    assert.equal(parseJsonText(text, 1_000_000, 100), undefined);
  });
});

test("a text that is too long, too deep or invalid JSON is undefined, quickly", () => {
  assert.deepEqual(parseJsonText("[[1]]", 5, 2), [[1]]);
  assert.equal(parseJsonText("[[1]]", 4, 2), undefined);
  assert.equal(parseJsonText("[[1]]", 5, 1), undefined);
  assert.deepEqual(parseJsonText('["[[["]', 100, 1), ["[[["]);
  for (const text of ["", "{", "undefined", '{"a":1,}', '"\\', "\u0000"]) {
    assert.equal(parseJsonText(text, 100, 10), undefined);
  }
  const deep = `${"[".repeat(500_000)}${"]".repeat(500_000)}`;
  assert.equal(parseJsonText(deep, 10_000_000, 10), undefined);
  assert.equal(parseJsonText('\\"'.repeat(1_000_000), 10_000_000, 10), undefined);
});

/** Every UTF-16 unit of a text as a JSON escape. */
function escaped(text: string): string {
  return Array.from(
    { length: text.length },
    (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, "0")}`,
  ).join("");
}
