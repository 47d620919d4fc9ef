import assert from "node:assert/strict";
import { isIP } from "node:net";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Address4, Address6 } from "ip-address";
import { address, cidr } from "../test/generators/facts.ts";
import { forAll, forMany } from "../test/generators/for-all.ts";
import { type Address, addressFromHex, isAddress, parseAddress } from "./address.ts";
import { classOf } from "./address-class.ts";
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

const words = (text: string): string[] => text.split(" ");

/** Before or after an address, none of these is a part of it. */
const affix = fc.constantFrom(" ", "\n", "\0", ".", ":", "/32", ":80", "[", "]", "x", "e0");

const octet = fc.constantFrom("", "010", "0x1", "1e1", "-1", "+1", "256", "08", "00");

/** What would be written of an address by someone who wants to confuse a parser. */
const nearlyAddress = fc.oneof(
  fc.tuple(affix, fc.oneof(fc.ipV4(), fc.ipV6())).map((parts) => parts.join("")),
  fc.tuple(fc.oneof(fc.ipV4(), fc.ipV6()), affix).map((parts) => parts.join("")),
  fc
    .tuple(fc.ipV4(), fc.nat(3), octet)
    .map(([four, i, other]) => four.split(".").with(i, other).join(".")),
  fc.ipV4(),
  fc.ipV6(),
  fc.stringMatching(/^[0-9a-fA-FxX.:%/ \n]{0,45}$/),
  fc.array(fc.oneof(fc.nat(300).map(String), octet)).map((parts) => parts.join(".")),
  fc
    .array(fc.stringMatching(/^[0-9a-fA-F]{0,5}$/), { maxLength: 10 })
    .map((parts) => parts.join(":")),
  fc.tuple(fc.ipV6(), fc.ipV4()).map(([six, four]) => six.replace(/[^:]*:[^:]*$/, four)),
);

const groups = fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 8, maxLength: 8 });

describe("parseAddress", () => {
  test("accepts only what node:net accepts, with the same family", () =>
    forMany(1000, [nearlyAddress], (text) => {
      const parsed = parseAddress(text);
      if (!isAddress(parsed)) return;
      assert.equal(parsed.family, isIP(text) === 4 ? "IPv4" : "IPv6");
      assert.notEqual(isIP(text), 0);
    }));

  test("rejects only zones and embedded IPv4 of what node:net accepts", () =>
    forMany(1000, [nearlyAddress], (text) => {
      const parsed = parseAddress(text);
      if (isAddress(parsed) || isIP(text) === 0) return;
      if (parsed === "zoned-address") assert.match(text, /%/);
      else {
        assert.equal(parsed, "mapped-address");
        const first96 = new Address6(text).bigInt() >> 32n;
        assert.ok(first96 === 0n || first96 === 0xffffn);
      }
    }));

  test("prints IPv6 as in RFC 5952, whatever the spelling", () =>
    forAll([groups, fc.nat(3)], (numbers, style) => {
      const words = numbers.map((n) => n.toString(16));
      const texts = [
        words.join(":"),
        words.join(":").toUpperCase(),
        words.map((word) => word.padStart(4, "0")).join(":"),
        new Address6(words.join(":")).correctForm(),
      ];
      const parsed = parseAddress(texts[style] ?? "");
      if (!isAddress(parsed)) return assert.equal(parsed, "mapped-address");
      const oracle = new Address6(words.join(":"));
      assert.equal(parsed.text, oracle.correctForm());
      assert.equal(parsed.hex, oracle.canonicalForm().replaceAll(":", ""));
    }));

  test("reads IPv4 as ip-address does", () =>
    forAll([fc.ipV4()], (text) => {
      const parsed = parseAddress(text);
      assert.ok(isAddress(parsed));
      assert.equal(parsed.text, text);
      assert.equal(BigInt(`0x${parsed.hex}`), new Address4(text).bigInt());
    }));

  // Written, and how it is printed.
  const SAME = [
    ["FD00:0:0::0001", "fd00::1"],
    ["::", "::"],
    ["0:0:0:0:0:0:0:1", "::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["1::0:0:0:0:0:0", "1::"],
    ["64:ff9b::10.0.0.1", "64:ff9b::a00:1"],
    ["255.255.255.255", "255.255.255.255"],
    ["0.0.0.0", "0.0.0.0"],
  ] as const;
  for (const [written, canonical] of SAME) {
    test(`reads ${written} as ${canonical}`, () => {
      assert.equal(address(written).text, canonical);
    });
  }

  const REFUSED = {
    "invalid-address": [
      ...words("167772161 0x0a000001 １０.0.0.1 localhost __proto__ fd00:::1 fd00::1::2"),
      ...words("1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7::8 fd00::g fd00::1.2.3"),
      ...words("fd00::1.2.3.04 1.2.3.4:: fd00:1.2.3.4::1"),
      ...["", `${"0".repeat(60)}::1`, "0".repeat(1e6)],
    ],
    "mapped-address": [
      ...words("::ffff:10.0.0.1 ::FFFF:10.0.0.1 ::ffff:a00:1 0:0:0:0:0:ffff:0a00:0001"),
      ...words("::1.2.3.4 ::102:304 ::ffff:127.0.0.1"),
    ],
    "zoned-address": words("fe80::1%eth0 fd00::1% fe80::1%1 ::ffff:10.0.0.1%lo"),
  };
  for (const [fault, texts] of Object.entries(REFUSED)) {
    for (const text of texts) {
      test(`rejects ${JSON.stringify(text.slice(0, 70))} as ${fault}`, () => {
        assert.equal(parseAddress(text), fault);
      });
    }
  }
});

test("addressFromHex returns every address", () =>
  forAll([fc.oneof(fc.ipV4(), fc.ipV6())], (text) => {
    const parsed = parseAddress(text);
    if (isAddress(parsed)) assert.deepEqual(addressFromHex(parsed.hex), parsed);
  }));

// The first and the last address of each class, and the neighbours that are outside of it.
const CLASSES = {
  "unspecified-address": words("0.0.0.0 0.255.255.255 ::"),
  "loopback-address": words("127.0.0.0 127.0.0.1 127.255.255.255 ::1"),
  "link-local-address": words(
    "169.254.0.0 169.254.169.254 169.254.255.255 fe80:: fe80::1 febf:ffff::1",
  ),
  "multicast-address": words("224.0.0.0 239.255.255.255 255.255.255.255 ff00:: ff02::1"),
  none: [
    ...words("1.0.0.0 1.2.3.4 10.96.0.1 126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0"),
    ...words("223.255.255.255 240.0.0.0 241.0.0.1 255.255.255.254"),
    ...words("::2 ::1:0:0 fe7f::1 fec0::1 feff::1 fd00::1 2001:db8::1"),
  ],
};

for (const [name, texts] of Object.entries(CLASSES)) {
  for (const text of texts) {
    test(`${text} is of class ${name}`, () => {
      assert.equal(classOf(address(text)) ?? "none", name);
    });
  }
}

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
    ...words("/ /8 10.0.0.0 10.0.0.0/ 10.0.0.0/33 10.0.0.0/08 10.0.0.0/+8 10.0.0.0/-1"),
    ...words("10.0.0.0/8.0 10.0.0.0/8/8 10.0.0.0/255.0.0.0 10/8 010.0.0.0/8"),
    ...words("fd00::/129 fd00::%eth0/64 ::ffff:0:0/96"),
    ...["", "10.0.0.0/8 ", "10.0.0.0/8\n"],
  ];
  for (const text of INVALID) {
    test(`rejects ${JSON.stringify(text)}`, () => assert.equal(parseCidr(text), "invalid-cidr"));
  }
});
