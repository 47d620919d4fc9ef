import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { addressFromHex, type Family, isAddress, parseAddress } from "../../api/address.ts";
import { cidrOf, contains } from "../../api/cidr.ts";
import { Interner } from "../../api/parse/interner.ts";
import { address, cidr } from "../../test/generators/facts.ts";
import { forAll } from "../../test/generators/for-all.ts";
import { type EndpointCondition, type EndpointFact, Endpoints } from "./endpoints.ts";

const CONDITIONS: readonly EndpointCondition[] = ["ready", "serving", "terminating", "not-ready"];

function anyAddress(family: Family): fc.Arbitrary<string> {
  const digits = family === "IPv4" ? 8 : 32;
  // Runs of zeros as well: they are what IPv6 texts are shortened by.
  const digit = fc.constantFrom(..."0000000123456789abcdef".split(""));
  return fc
    .array(digit, { minLength: digits, maxLength: digits })
    .map((hex) => addressFromHex(hex.join("")).text)
    .filter((text) => isAddress(parseAddress(text)));
}

function anyEndpoint(family: Family): fc.Arbitrary<EndpointFact> {
  return fc.record(
    {
      address: anyAddress(family),
      condition: fc.constantFrom(...CONDITIONS),
      nodeName: fc.constantFrom("n1", "n2", "n3.example"),
      zone: fc.constantFrom("a", "b"),
    },
    { requiredKeys: ["address", "condition"], noNullPrototype: true },
  );
}

for (const family of ["IPv4", "IPv6"] as const) {
  describe(`${family} endpoints`, () => {
    test("are read as they were packed, in order", async () => {
      const interner = new Interner();
      await forAll([fc.array(anyEndpoint(family), { maxLength: 40 })], (list) => {
        const endpoints = Endpoints.of(family, list, interner);
        assert.deepEqual([...endpoints], list);
        assert.equal(endpoints.length, list.length);
        for (const [i, endpoint] of list.entries()) assert.deepEqual(endpoints.at(i), endpoint);
        assert.equal(endpoints.at(list.length), undefined);
        assert.equal(endpoints.at(-1), undefined);
      });
    });

    test("that are cut are as if only the first ones had been packed", async () => {
      await forAll(
        [fc.array(anyEndpoint(family), { maxLength: 20 }), fc.nat(20)],
        (list, count) => {
          const packed = Endpoints.of(family, list, new Interner());
          const first = Endpoints.of(family, list.slice(0, count), new Interner());
          assert.deepEqual(packed.cut(count), first);
        },
      );
    });

    test("are equal exactly if they have the same content, packed with one interner or each with its own", async () => {
      const few = fc.array(anyEndpoint(family), { maxLength: 3 });
      const shared = new Interner();
      await forAll([few, few, fc.boolean(), fc.boolean()], (one, other, same, share) => {
        const second = same ? structuredClone(one) : other;
        const packed = [one, second].map((list) =>
          Endpoints.of(family, list, share ? shared : new Interner()),
        );
        assert.equal(isDeepStrictEqual(packed[0], packed[1]), isDeepStrictEqual(one, second));
      });
    });
  });
}

test("an address of the other family, or an invalid one, throws", () => {
  for (const address of ["fd00::1", "010.0.0.1", ""]) {
    assert.throws(() => Endpoints.of("IPv4", [{ address, condition: "ready" }]), RangeError);
  }
});

test("an interner shares one copy of equal values, and forgets all when there are too many", () => {
  const interner = new Interner(3);
  const ports = () => [{ name: "http", protocol: "TCP", port: 80 } as const];
  const first = interner.ports(ports());
  assert.equal(interner.ports(ports()), first);
  assert.deepEqual(interner.ports([]), []);
  for (let port = 1; port < 10; port++) interner.ports([{ name: "", protocol: "UDP", port }]);
  assert.deepEqual(interner.ports(ports()), first);
  assert.notEqual(interner.ports(ports()), first);
});

test("a full table of places is followed by another; endpoints packed before stay unchanged", () => {
  const interner = new Interner();
  const slice = (n: number) =>
    Array.from({ length: 1000 }, (_, i) => ({
      address: `10.0.${i >> 8}.${i & 255}`,
      condition: "ready" as const,
      nodeName: `node-${n}-${i}`,
    }));
  const packed = Array.from({ length: 70 }, (_, n) => Endpoints.of("IPv4", slice(n), interner));
  for (const [n, endpoints] of packed.entries()) assert.deepEqual([...endpoints], slice(n));
});

test("endpoints in ranges are those that each address shows to be in one", async () => {
  for (const [family, width, other] of [
    ["IPv4", 32, cidr("::/0")],
    ["IPv6", 128, cidr("0.0.0.0/0")],
  ] as const) {
    const texts = fc.array(anyAddress(family), { maxLength: 20 });
    await forAll([texts, fc.array(fc.nat(width))], (list, bits) => {
      const facts = list.map((text) => ({
        ...{ address: address(text).text, condition: "serving" as const, zone: "z" },
      }));
      // Ranges around every second address, or no range would contain one.
      const ranges = bits.flatMap((length, i) => {
        const base = list[2 * i];
        return base === undefined ? [] : [cidrOf(address(base), length)];
      });
      const { inside, outside } = Endpoints.of(family, facts).within([...ranges, other]);
      const isIn = (fact: EndpointFact) =>
        ranges.some((range) => contains(range, address(fact.address)));
      assert.deepEqual([...inside], facts.filter(isIn));
      const others = facts.filter((fact) => !isIn(fact)).map((fact) => fact.address);
      assert.deepEqual(outside, others);
    });
  }
});
