import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { ItemSplitter } from "./item-splitter.ts";
import { LONGEST_OBJECT, parseJson } from "./json.ts";
import { PartialBytes } from "./partial-bytes.ts";
import { LineSplitter } from "./watch-stream.ts";

function parsed(text: string): unknown {
  return parseJson(Buffer.from(text));
}

test("a document of a hundred levels is parsed, and one of more is garbage", () => {
  const arrays = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  const objects = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  for (const nested of [arrays, objects]) {
    assert.deepEqual(parsed(nested(100)), JSON.parse(nested(100)));
    for (const levels of [101, 20_000]) {
      assert.throws(() => parsed(nested(levels)), { reason: "garbage", message: /100 levels/ });
    }
  }
  assert.throws(() => parsed(`{"metadata":{},"spec":${arrays(20_000)}}`), { reason: "garbage" });
});

test("brackets in strings are no levels, whatever is escaped", () => {
  const text = JSON.stringify({ a: "[".repeat(200), b: `"\\${"{".repeat(200)}`, c: "\\" });
  assert.deepEqual(parsed(text), JSON.parse(text));
  assert.deepEqual(parsed(`"\\\\\\"${"[".repeat(200)}"`), `\\"${"[".repeat(200)}`);
});

test("any other value equals that of a JSON parser", () =>
  forAll([fc.json({ maxDepth: 20 })], (text) => {
    assert.deepEqual(parsed(text), JSON.parse(text));
  }));

const NOTHING = new Uint8Array();
const MEGABYTE = 1024 * 1024;

/** Bytes of memory that `act` leaves in use, with what it returns. */
function leftBy(act: () => unknown): number {
  const used = () => {
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const before = used();
  const kept = act();
  const left = used() - before;
  assert.ok(kept);
  return left;
}

test("parts are joined in order, and nothing of them is left after that", () => {
  const bytes = new PartialBytes(100, "It");
  for (const part of ["ab", "", "c"]) bytes.add(Buffer.from(part));
  assert.equal(String(bytes.take(Buffer.from("d"))), "abcd");
  assert.equal(bytes.length, 0);
  const whole = Buffer.from("whole");
  assert.equal(bytes.take(whole), whole, "one part is not copied");
});

test("a part may change after it was added, as buffers of a connection do", () => {
  const bytes = new PartialBytes(100, "It");
  const part = Buffer.from("ab");
  bytes.add(part);
  part.fill("x");
  assert.equal(String(bytes.take(NOTHING)), "ab");
});

test("more than the limit is garbage", () => {
  const bytes = new PartialBytes(3, "It");
  bytes.add(Buffer.from("abc"));
  assert.throws(() => bytes.add(Buffer.from("d")), { reason: "garbage" });
  assert.throws(() => bytes.take(Buffer.from("d")), { reason: "garbage" });
  assert.equal(String(bytes.take(NOTHING)), "abc");
});

for (const [name, splitter] of [
  ["line", new LineSplitter(LONGEST_OBJECT)],
  ["item", new ItemSplitter(LONGEST_OBJECT)],
] as const) {
  test(`a ${name} of which each byte is a chunk costs a few times its size`, () => {
    const one = Buffer.from("x");
    const left = leftBy(() => {
      for (const _ of splitter.push(Buffer.from('{"items":["'))) assert.fail();
      // Each chunk of a connection has a buffer of its own.
      for (let i = 0; i < 2 * MEGABYTE; i++) splitter.push(Buffer.from(one)).next();
      return splitter;
    });
    assert.ok(left < 64 * MEGABYTE, `${left} bytes`);
  });
}

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
