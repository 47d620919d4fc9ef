import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { forAll } from "../../test/generators/for-all.ts";
import { expected, value } from "../../test/generators/read-value.ts";
import * as values from "./values.ts";

test("a list of ranges is read with blanks and without, and may be empty", () => {
  const texts = value(values.cidrs("10.0.0.0/8, fd00::/8")).map(({ text }) => text);
  assert.deepEqual(texts, ["10.0.0.0/8", "fd00::/8"]);
  assert.deepEqual(value(values.cidrs("")), []);
});

test("the message names an invalid range, and distinguishes host bits from other errors", () => {
  assert.match(expected(values.cidrs("10.0.0.0/8,10.1/16")), /^"10\.1\/16" is not a range/);
  assert.match(
    expected(values.cidrs("10.1.2.3/16")),
    /^"10\.1\.2\.3\/16" has bits set beyond its prefix/,
  );
  assert.match(expected(values.cidrs("10.0.0.0/8,")), /^"" is not a range/);
});

test("the ClusterSet CIDR is one range, or one per family", () => {
  assert.equal(value(values.clusterSetCidrs("241.0.0.0/8")).length, 1);
  assert.equal(value(values.clusterSetCidrs("fd00:241::/32,241.0.0.0/8")).length, 2);
  assert.match(expected(values.clusterSetCidrs("")), /one range/);
});

test("while it changes, the ClusterSet CIDR is two ranges of a family, in the given order", () => {
  const texts = (given: string) => value(values.clusterSetCidrs(given)).map(({ text }) => text);
  const four = "242.0.0.0/8,fd00:242::/32,241.0.0.0/8,fd00:241::/32";
  assert.deepEqual(texts(four), four.split(","));
  assert.equal(
    expected(values.clusterSetCidrs(`${four},243.0.0.0/8`)),
    "has 3 IPv4 ranges; expected one, or 2 while the range changes",
  );
  assert.match(
    expected(values.clusterSetCidrs("fd01::/32,fd02::/32,fd03::/32")),
    /^has 3 IPv6 ranges/,
  );
  assert.deepEqual(texts("241.4.0.0/16,241.0.0.0/8"), ["241.4.0.0/16", "241.0.0.0/8"]);
  assert.equal(
    expected(values.clusterSetCidrs("241.0.0.0/8,241.4.0.0/16")),
    "241.4.0.0/16 is a part of 241.0.0.0/8",
  );
  assert.match(expected(values.clusterSetCidrs("241.0.0.0/8,241.0.0.0/8")), /is a part of/);
  assert.match(expected(values.clusterSetCidrs("241.0.0.0/8,127.1.0.0/16")), /loopback/);
});

test("the ClusterSet CIDR must not contain addresses that a node uses for itself, so never all addresses", () => {
  const held: Readonly<Record<string, RegExp>> = {
    "0.0.0.0/0": /unspecified/,
    "::/0": /loopback/,
    "127.1.0.0/16": /loopback/,
    "169.254.0.0/20": /link-local/,
    "160.0.0.0/4": /link-local/,
    "239.0.0.0/8": /multicast/,
    // Would be rejected by the guard: DHCP and all other broadcasts.
    "240.0.0.0/4": /broadcast/,
    "fe80::/64": /link-local/,
    "ff02::/16": /multicast/,
  };
  for (const [range, why] of Object.entries(held)) {
    assert.match(expected(values.clusterSetCidrs(range)), why, range);
  }
});

test("a listen address is an IP address and a port, or off", () => {
  const v4 = value(values.listenAddress("0.0.0.0:80"));
  assert.deepEqual([v4?.host, v4?.port], ["0.0.0.0", 80]);
  const v6 = value(values.listenAddress("[::1]:10269"));
  assert.deepEqual([v6?.host, v6?.port], ["::1", 10_269]);
  assert.equal(value(values.listenAddress("off")), undefined);
  assert.equal(value(values.listenAddress("")), undefined);
  const wrongs = [
    ":80",
    "localhost:80",
    "127.0.0.1",
    "127.0.0.1:",
    "127.0.0.1:65536",
    "::1:80",
    "[127.0.0.1]:80",
    "127.0.0.1:80/x",
    "[]:80",
  ];
  for (const wrong of wrongs) {
    assert.match(expected(values.listenAddress(wrong)), /expected an IP address and a port/, wrong);
  }
});

test("seconds are a whole number within limits, with their unit or without", () => {
  const read = values.seconds(5, 300);
  for (const [given, is] of [
    ["30", 30],
    ["30s", 30],
    ["5s", 5],
    ["300", 300],
  ] as const) {
    assert.equal(value(read(given)), is);
  }
  for (const wrong of ["", "s", "4", "301s", "-5", "5.5", "5m", "1e2", " 30", "0x20", "9999999"]) {
    assert.equal(expected(read(wrong)), "expected seconds, 5s to 300s", wrong);
  }
});

test("a word is one of the words, spelled exactly", () => {
  const read = values.oneOf(["none", "remote", "all"]);
  assert.equal(value(read("remote")), "remote");
  assert.equal(expected(read("Remote")), "expected none, remote or all");
  assert.equal(expected(values.oneOf(["iptables"])("nft")), "expected iptables");
});

test("a number is whole, without signs or units, and within its bounds", () => {
  const read = values.count(1, 100);
  for (const number of [1, 25, 100]) assert.equal(value(read(String(number))), number);
  for (const wrong of ["", "0", "101", "-1", "1.5", "1e2", "0x1", "9".repeat(400)]) {
    assert.equal(expected(read(wrong)), "expected a number, 1 to 100", wrong);
  }
});

test("an optional value may be empty, and is otherwise parsed as usual", () => {
  const read = values.optional(values.oneOf(["a"]));
  assert.equal(value(read("")), undefined);
  assert.equal(value(read("a")), "a");
  assert.equal(expected(read("b")), "expected a");
});

test("no reader throws for any text", async () => {
  const readers = [
    values.cidrs,
    values.clusterSetCidrs,
    values.count(1, 9),
    values.listenAddress,
    values.seconds(5, 300),
  ];
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom(..."0123456789a:.,/=[]".split("")) }),
  );
  await forAll([fc.constantFrom(...readers), text], (read, given) => {
    assert.ok("value" in read(given) || "expected" in read(given));
  });
});
