import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { ItemSplitter } from "./item-splitter.ts";
import { parseJson } from "./json.ts";

/** The items, and what is around them, of a document that arrives in chunks of some size. */
function split(text: string, size = 7, longest = 1_000_000): { items: unknown[]; frame: unknown } {
  const splitter = new ItemSplitter(longest);
  const bytes = Buffer.from(text);
  const items: unknown[] = [];
  for (let from = 0; from < bytes.length; from += size) {
    for (const item of splitter.push(bytes.subarray(from, from + size)))
      items.push(parseJson(item));
  }
  return { items, frame: splitter.end() };
}

test("items and frame equal those of a JSON parser, wherever the chunks end", async () => {
  const value = fc.jsonValue({ maxDepth: 4 });
  const around = fc.dictionary(
    fc.string().filter((key) => key !== "items" && key !== "__proto__"),
    value,
  );
  const size = fc.integer({ min: 1, max: 40 });
  const space = fc.constantFrom(undefined, 1);
  await forAll(
    [around, fc.array(value), around, size, space],
    (before, items, after, n, indent) => {
      const text = JSON.stringify({ ...before, items, ...after }, null, indent);
      const whole: { items: unknown[] } = JSON.parse(text);
      assert.deepEqual(split(text, n), { items: whole.items, frame: { ...whole, items: [] } });
    },
  );
});

test("an array of another name, or deeper, is no list of items", () => {
  const text = '{"metadata":{"items":[1]},"other":[2,[3]],"x":"items","items":[4],"y":["items"]}';
  assert.deepEqual(split(text).items, [4]);
});

test("no items are no items, as null too", () => {
  assert.deepEqual(split('{"items": [ ] }'), { items: [], frame: { items: [] } });
  assert.deepEqual(split('{"items":null}'), { items: [], frame: { items: null } });
});

test("every prefix of a list is garbage, and so is anything but a list", () => {
  const garbage = { reason: "garbage" };
  const text = '{"items":[{"a":"]}\\""},{"b":[1]}],"metadata":{}}';
  for (let end = 0; end < text.length; end++) {
    assert.throws(() => split(text.slice(0, end)), garbage, text.slice(0, end));
  }
  const others = [
    "[]",
    "{}",
    "null",
    '{"items":{}}',
    '{"items":[1,,2]}',
    '{"items":[1]]',
    // A key that is spelled in another way: its elements must not seem to be none.
    '{"\\u0069tems":[1]}',
    "<html>",
  ];
  for (const other of others) assert.throws(() => split(other), garbage, other);
});

test("an item that is too long is garbage, and so is a frame", () => {
  assert.deepEqual(split('{"items":["12345"]}', 3, 12).items, ["12345"]);
  const garbage = { reason: "garbage" };
  assert.throws(() => split('{"items":["12345678901"]}', 3, 12), garbage);
  assert.throws(() => split('{"xxxxxxx":1,"items":[]}', 3, 12), garbage);
});
