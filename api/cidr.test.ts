import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { address, cidr } from "../test/generators/facts.ts";
import { forMany } from "../test/generators/for-all.ts";
import { type Address, isAddress, parseAddress } from "./address.ts";
import {
  type Cidr,
  cidrOf,
  contains,
  containsAny,
  familiesIn,
  ofFamily,
  overlap,
  parseCidr,
  widthOf,
} from "./cidr.ts";

const anyAddress = fc
  .oneof(
    fc.ipV4(),
    fc.ipV6(),
    // Close together, so that ranges meet.
    fc.nat(0xffff).map((n) => `10.0.${n >> 8}.${n & 255}`),
    fc.nat(0xffff).map((n) => `fd00::${n.toString(16)}`),
  )
  .map(parseAddress)
  .filter(isAddress);

const anyCidr = fc
  .tuple(anyAddress, fc.nat(128))
  .map(([base, bits]) => cidrOf(base, bits % (widthOf(base.family) + 1)));

/** The range as numbers: its first address and its last. */
function span({ family, hex, bits }: Cidr): [first: bigint, last: bigint] {
  const first = BigInt(`0x${hex}`);
  return [first, first + (1n << BigInt(widthOf(family) - bits)) - 1n];
}

function inSpan({ hex }: Address, range: Cidr): boolean {
  const [first, last] = span(range);
  return BigInt(`0x${hex}`) >= first && BigInt(`0x${hex}`) <= last;
}

test("a range contains the addresses from its first to its last, of its own family", () =>
  forMany(1000, [anyCidr, anyAddress], (range, one) => {
    const expected = range.family === one.family && inSpan(one, range);
    assert.equal(contains(range, one), expected);
  }));

test("the range of an address contains it, and begins with zero host bits", () =>
  forMany(1000, [anyAddress, fc.nat(128)], (one, n) => {
    const range = cidrOf(one, n % (widthOf(one.family) + 1));
    assert.ok(contains(range, one));
    assert.deepEqual(parseCidr(range.text), range);
    assert.equal(span(range)[0] & (span(range)[1] - span(range)[0]), 0n);
  }));

test("ranges overlap if both contain an address, in either order", () =>
  forMany(1000, [anyCidr, anyCidr], (a, b) => {
    const [[firstA, lastA], [firstB, lastB]] = [span(a), span(b)];
    const expected = a.family === b.family && firstA <= lastB && firstB <= lastA;
    assert.equal(overlap(a, b), expected);
    assert.equal(overlap(b, a), expected);
  }));

test("ranges of a family keep their order; the families are those with a range, IPv4 first", () => {
  const ranges = ["fd00:242::/108", "242.0.0.0/8", "fd00:241::/108", "241.0.0.0/8"].map(cidr);
  const texts = (family: "IPv4" | "IPv6") => ofFamily(ranges, family).map(({ text }) => text);
  assert.deepEqual(texts("IPv4"), ["242.0.0.0/8", "241.0.0.0/8"]);
  assert.deepEqual(texts("IPv6"), ["fd00:242::/108", "fd00:241::/108"]);
  assert.deepEqual(familiesIn(ranges), ["IPv4", "IPv6"]);
  assert.deepEqual(familiesIn(ranges.slice(0, 1)), ["IPv6"]);
  assert.ok(
    containsAny(ranges, address("241.1.2.3")) && !containsAny(ranges, address("243.0.0.1")),
  );
});

describe("parseCidr", () => {
  for (const text of ["0.0.0.0/0", "241.0.0.0/8", "10.0.0.1/32", "::/0", "fd00::/108"]) {
    test(`accepts ${text} as it is`, () => assert.equal(cidr(text).text, text));
  }
  test("accepts IPv6 in any spelling", () => {
    assert.equal(cidr("FD00:0::0/16").text, "fd00::/16");
    assert.equal(cidr("fd00::1/128").hex, address("fd00::1").hex);
  });

  for (const text of ["10.0.0.1/8", "10.0.0.128/24", "fd00::1/64", "0.0.0.1/0"]) {
    test(`reports host bits of ${text}`, () => {
      assert.equal(parseCidr(text), "host-bits-set");
    });
  }

  const INVALID = [
    "",
    "/",
    "/8",
    "10.0.0.0",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "10.0.0.0/+8",
    "10.0.0.0/-1",
    "10.0.0.0/8.0",
    "10.0.0.0/8 ",
    "10.0.0.0/8/8",
    "10.0.0.0/255.0.0.0",
    "10/8",
    "010.0.0.0/8",
    "fd00::/129",
    "fd00::%eth0/64",
    "::ffff:0:0/96",
    "10.0.0.0/8\n",
  ];
  for (const text of INVALID) {
    test(`rejects ${JSON.stringify(text)}`, () => assert.equal(parseCidr(text), "invalid-cidr"));
  }
});
