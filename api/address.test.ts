import assert from "node:assert/strict";
import { isIP } from "node:net";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Address4, Address6 } from "ip-address";
import { address } from "../test/generators/facts.ts";
import { forAll, forMany } from "../test/generators/for-all.ts";
import { addressFromHex, isAddress, parseAddress } from "./address.ts";

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
      "",
      "167772161",
      "0x0a000001",
      "１０.0.0.1",
      "localhost",
      "__proto__",
      "fd00:::1",
      "fd00::1::2",
      "1:2:3:4:5:6:7",
      "1:2:3:4:5:6:7:8:9",
      "1:2:3:4:5:6:7::8",
      "fd00::g",
      "fd00::1.2.3",
      "fd00::1.2.3.04",
      "1.2.3.4::",
      "fd00:1.2.3.4::1",
      `${"0".repeat(60)}::1`,
      "0".repeat(1e6),
    ],
    "mapped-address": [
      "::ffff:10.0.0.1",
      "::FFFF:10.0.0.1",
      "::ffff:a00:1",
      "0:0:0:0:0:ffff:0a00:0001",
      "::1.2.3.4",
      "::102:304",
      "::ffff:127.0.0.1",
    ],
    "zoned-address": ["fe80::1%eth0", "fd00::1%", "fe80::1%1", "::ffff:10.0.0.1%lo"],
  } as const;
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
