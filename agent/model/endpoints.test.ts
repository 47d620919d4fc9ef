import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { addressFromHex, type Family, isAddress, parseAddress } from "../../api/address.ts";
import { type EndpointCondition, type EndpointFact, Endpoints } from "./endpoints.ts";
import { Interner } from "./interner.ts";

const CONDITIONS: readonly EndpointCondition[] = ["ready", "serving", "terminating", "not-ready"];

function anyAddress(family: Family): fc.Arbitrary<string> {
  const digits = family === "IPv4" ? 8 : 32;
  // Runs of zeros as well: they are what IPv6 texts are shortened by.
  const digit = fc.constantFrom(..."0000000123456789abcdef");
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
    test("come out as they went in, in order", () => {
      const interner = new Interner();
      fc.assert(
        fc.property(fc.array(anyEndpoint(family), { maxLength: 40 }), (list) => {
          const endpoints = Endpoints.of(family, list, interner);
          assert.deepEqual([...endpoints], list);
          assert.equal(endpoints.length, list.length);
          for (const [i, endpoint] of list.entries()) assert.deepEqual(endpoints.at(i), endpoint);
          assert.equal(endpoints.at(list.length), undefined);
          assert.equal(endpoints.at(-1), undefined);
        }),
      );
    });

    test("are equal exactly if they hold the same, whoever interned their names", () => {
      const few = fc.array(anyEndpoint(family), { maxLength: 3 });
      fc.assert(
        fc.property(few, few, fc.boolean(), (one, other, same) => {
          const second = same ? structuredClone(one) : other;
          const packed = [one, second].map((list) => Endpoints.of(family, list));
          assert.equal(isDeepStrictEqual(packed[0], packed[1]), isDeepStrictEqual(one, second));
        }),
      );
    });
  });
}

test("a thousand endpoints on as many nodes keep their places", () => {
  const list = Array.from({ length: 1000 }, (_, i) => ({
    address: `10.0.${i >> 8}.${i & 255}`,
    condition: "ready" as const,
    nodeName: `node-${i}`,
  }));
  assert.deepEqual([...Endpoints.of("IPv4", list)], list);
});

test("an address of the other family, or none, is a fault of whoever packs it", () => {
  for (const address of ["fd00::1", "010.0.0.1", ""]) {
    assert.throws(() => Endpoints.of("IPv4", [{ address, condition: "ready" }]), RangeError);
  }
});

test("an interner gives equal places one copy, and forgets when too many names were invented", () => {
  const interner = new Interner(3);
  const first = interner.place("n1", "a");
  assert.equal(interner.place("n1", "a"), first);
  assert.deepEqual(interner.place(undefined, undefined), {});
  for (let i = 0; i < 10; i++)
    assert.deepEqual(interner.place(`m${i}`, "b"), { nodeName: `m${i}`, zone: "b" });
  assert.deepEqual(interner.place("n1", "a"), first);
  assert.notEqual(interner.place("n1", "a"), first);
});
