import assert from "node:assert/strict";
import { test } from "node:test";
import { ItemSplitter } from "./item-splitter.ts";
import { LONGEST_OBJECT } from "./json.ts";
import { LineSplitter } from "./line-splitter.ts";
import { PartialBytes } from "./partial-bytes.ts";

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
