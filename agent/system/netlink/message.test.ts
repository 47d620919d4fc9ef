import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../../test/generators/for-all.ts";
import { attribute, locate, nested } from "./attributes.ts";
import { ACK, readMessages, request } from "./message.ts";

const bytes = fc.uint8Array({ maxLength: 80 }).map((value) => Buffer.from(value));

test("reading messages ends for any bytes", () =>
  forAll([bytes], (some) => void readMessages(some)));

test("locating an attribute ends for any bytes", () =>
  forAll([bytes, fc.nat(40)], (some, type) => {
    const found = locate(some, { from: 0, to: some.length }, type);
    if (found === undefined) return;
    assert.ok(4 <= found.from && found.from <= found.to && found.to <= some.length);
  }));

test("messages are read as they were written", async () => {
  const one = fc.record({ type: fc.integer({ min: 16, max: 0xffff }), payload: bytes });
  await forAll([fc.array(one)], (messages) => {
    const datagram = messages.map(({ type, payload }, i) => request(type, 0, i, payload));
    assert.deepEqual(
      readMessages(Buffer.concat(datagram)),
      messages.map(({ type, payload }, sequence) => ({
        ...{ kind: "data", sequence, type, payload, interrupted: false },
      })),
    );
  });
});

test("an attribute is found among others, the last of its type", async () => {
  const one = fc.tuple(fc.integer({ min: 1, max: 5 }), bytes);
  await forAll([fc.array(one)], (attributes) => {
    const outer = nested(7, ...attributes.map(([type, value]) => attribute(type, value)));
    const inside = locate(outer, { from: 0, to: outer.length }, 7);
    assert.ok(inside);
    for (const [type, value] of new Map(attributes)) {
      const found = locate(outer, inside, type);
      assert.deepEqual(found && outer.subarray(found.from, found.to), value);
    }
    assert.equal(locate(outer, inside, 6), undefined);
  });
});

test("nothing is found among malformed attributes", () => {
  const good = attribute(1, Buffer.of(1, 2, 3, 4));
  const span = (of: Buffer) => ({ from: 0, to: of.length });
  assert.ok(locate(good, span(good), 1));
  for (const rest of [[0], [3, 0, 1, 0], [9, 0, 1, 0]]) {
    const bad = Buffer.concat([good, Buffer.from(rest)]);
    assert.equal(locate(bad, span(bad), 1), undefined);
  }
});

test("an acknowledgement, an error and the end of a dump", () => {
  const error = (number: number) => {
    const payload = Buffer.alloc(4);
    payload.writeInt32LE(number);
    return request(2, ACK, 9, payload);
  };
  const done = request(3, 0x10, 9, Buffer.alloc(0));
  assert.deepEqual(
    readMessages(Buffer.concat([error(0), error(-2), done]))?.map((reply) =>
      reply.kind === "end" ? [reply.sequence, reply.errno, reply.interrupted] : [],
    ),
    [
      [9, 0, false],
      [9, 2, false],
      [9, 0, true],
    ],
  );
});
