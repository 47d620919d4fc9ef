import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PROTOCOLS } from "../../../api/protocol.ts";
import { encodeEntry } from "../../../test/conntrack/encode-entry.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { decodeEntry, encodeEverything, encodeFilter } from "./encoding.ts";
import { type Entry, TCP_STATES } from "./entry.ts";

/** A UDP entry of 127.0.0.1 as Linux 6.18 sent it, without the message's header. */
const KERNELS =
  "020000003400018014000180080001007f000001080002007f0000011c000280050001001100000006000200eab70000" +
  "0600030003e700003400028014000180080001007f000001080002007f0000011c000280050001001100000006000200" +
  "03e7000006000300eab700000800030000000008080008000000000008000c00f62bd4c108000b000000000108000700" +
  "0000001d";

test("an entry as the kernel sends it", () => {
  const here = { source: "7f000001", destination: "7f000001" };
  assert.deepEqual(decodeEntry(Buffer.from(KERNELS, "hex")), {
    ...{ family: "IPv4", protocol: "UDP", replied: false, id: 0xf62bd4c1 },
    original: { ...here, sourcePort: 60087, destinationPort: 999 },
    reply: { ...here, sourcePort: 999, destinationPort: 60087 },
  });
});

const port = fc.nat(0xffff);
const zone = fc.option(fc.nat(0xffff), { nil: undefined });

/** Without the fields that have no value: an entry has no such fields. */
function lean<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, v]) => v !== undefined)) as T;
}

const entries = fc.constantFrom("IPv4" as const, "IPv6" as const).chain((family) => {
  const digits = family === "IPv4" ? 8 : 32;
  const address = fc
    .array(fc.constantFrom("0", "1", "9", "a", "f"), { minLength: digits, maxLength: digits })
    .map((all) => all.join(""));
  const tuple = fc
    .record({
      source: address,
      destination: address,
      sourcePort: port,
      destinationPort: port,
      zone,
    })
    .map(lean);
  return fc
    .record({
      ...{ family: fc.constant(family), protocol: fc.constantFrom(...PROTOCOLS) },
      ...{ original: tuple, reply: tuple, replied: fc.boolean(), zone },
      id: fc.option(fc.nat(0xffffffff), { nil: undefined }),
      tcp: fc.option(fc.constantFrom(...TCP_STATES), { nil: undefined }),
    })
    .map((one) => lean(one) as Entry);
});

test("an entry is read as it was written", () =>
  forAll([entries], (entry) => assert.deepEqual(decodeEntry(encodeEntry(entry)), entry)));

test("reading ends for any bytes", () =>
  forAll([fc.uint8Array()], (some) => void decodeEntry(Buffer.from(some))));

test("an entry with a byte changed or cut off is another entry or none, and reading ends", () =>
  forAll([entries, fc.nat(), fc.nat(255), fc.boolean()], (entry, at, value, cut) => {
    const bytes = encodeEntry(entry);
    const index = at % bytes.length;
    bytes.writeUInt8(value, index);
    const read = decodeEntry(cut ? bytes.subarray(0, index) : bytes);
    if (read === undefined) return;
    const digits = read.family === "IPv4" ? 8 : 32;
    for (const { source, destination } of [read.original, read.reply]) {
      assert.match(source + destination, new RegExp(`^[0-9a-f]{${2 * digits}}$`));
    }
  }));

test("a filter is encoded for the kernel", () => {
  const hex = (bytes: Buffer) => bytes.toString("hex");
  assert.equal(hex(encodeEverything()), "00000000");
  assert.equal(hex(encodeFilter({ family: "IPv6" })), "0a000000");
  const six = { family: "IPv6", destination: "fd000241000000000000000000000010" } as const;
  assert.equal(hex(encodeFilter(six)), "0a000000", "the kernel would invert the address");
  assert.equal(
    hex(encodeFilter({ family: "IPv4", protocol: "UDP" })),
    "02000000" +
      "10000180" +
      "0c000280" +
      "0500010011000000" +
      "14001980" +
      "0800010008000000" +
      "0800020000000000",
  );
  assert.equal(
    hex(encodeFilter({ family: "IPv6", protocol: "TCP", unanswered: true })),
    "0a000000" +
      "10000180" +
      "0c000280" +
      "0500010006000000" +
      "14001980" +
      "0800010008000000" +
      "0800020000000000" +
      "0800030000000000" +
      "08001a0000000002",
  );
  assert.equal(
    hex(encodeFilter({ family: "IPv4", destination: "f1000001" })),
    "02000000" +
      "10000180" +
      "0c000180" +
      "08000200f1000001" +
      "14001980" +
      "0800010002000000" +
      "0800020000000000",
  );
});
