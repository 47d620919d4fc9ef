import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { FAMILIES } from "../../../api/address.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { elementOf, families, layouts } from "../../../test/generators/nft-elements.ts";
import { AttributeWriter } from "../netlink/attribute-writer.ts";
import { decodeFields, type FieldKind, writeFields } from "./fields.ts";

function encodeFields(kinds: readonly FieldKind[], text: string): Buffer {
  const writer = new AttributeWriter();
  writeFields(writer, kinds, text);
  return writer.take();
}

test("each field begins at a multiple of four bytes, a port in network byte order, a number in the machine's", () => {
  const bytes = encodeFields(["address", "protocol", "port", "number"], "f1000001 TCP 80 3");
  assert.equal(bytes.toString("hex"), "f10000010600000000500000" + "03000000");
});

test("what is encoded is decoded", async () => {
  const cases = families.chain((family) =>
    layouts.chain((set) =>
      fc.record({
        ...{ family: fc.constant(family), set: fc.constant(set) },
        element: elementOf(set, family),
      }),
    ),
  );
  await forAll([cases], ({ family, set, element }) => {
    assert.equal(decodeFields(set.key, encodeFields(set.key, element.key), family), element.key);
  });
});

test("bytes of another length, and a protocol that we do not know, are no fields of ours", () => {
  for (const family of FAMILIES) {
    assert.equal(decodeFields(["port"], Buffer.alloc(8), family), undefined);
    assert.equal(decodeFields(["protocol"], Buffer.of(1, 0, 0, 0), family), undefined);
  }
});

test("a text without the fields of the set is an error", () => {
  assert.throws(() => encodeFields(["port", "port"], "80"), TypeError);
  assert.throws(() => encodeFields(["protocol"], "ICMP"), TypeError);
});
