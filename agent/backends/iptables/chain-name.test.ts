import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { isAddress, parseAddress } from "../../../api/address.ts";
import { cidrOf } from "../../../api/cidr.ts";
import { PROTOCOLS } from "../../../api/protocol.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import * as names from "./chain-name.ts";
import { prefixChain, rangeOf, serviceChain } from "./chain-name.ts";

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const service = fc.record({
  importKey: fc.tuple(label, label).map(([ns, name]) => `${ns}/${name}` as const),
  protocol: fc.constantFrom(...PROTOCOLS),
  port: fc.integer({ min: 1, max: 65535 }),
});
const range = fc
  .tuple(fc.oneof(fc.ipV4(), fc.ipV6()), fc.nat(32))
  .map(([text, nibbles]) => ({ address: parseAddress(text), nibbles }))
  .map(({ address, nibbles }) => {
    if (!isAddress(address)) return undefined;
    return cidrOf(address, (nibbles % (address.hex.length + 1)) * 4);
  })
  .filter((cidr) => cidr !== undefined);

/** What the kernel, both flavours and `nft -f` take as the name of a chain. */
const NAME = /^CSP-[-A-Za-z0-9./]{1,24}$/;

describe("names of chains", () => {
  test("have at most 28 characters, none of them a colon", () =>
    forAll([service, range], (one, { text }) => {
      assert.match(serviceChain(one), NAME);
      for (const infix of ["", "X-", "M-", "G-"]) assert.match(prefixChain(infix, text), NAME);
    }));

  test("are unique for services, ranges and trees", () =>
    forAll(
      [
        fc.uniqueArray(service, { selector: (s) => JSON.stringify(s), maxLength: 40 }),
        fc.uniqueArray(range, { selector: ({ text }) => text, maxLength: 40 }),
      ],
      (services, ranges) => {
        const fixed = Object.values(names).filter((name) => typeof name === "string");
        const all = [
          ...fixed,
          ...services.map(serviceChain),
          ...["", "X-", "M-", "G-"].flatMap((infix) =>
            ranges.map(({ text }) => prefixChain(infix, text)),
          ),
        ];
        assert.equal(new Set(all).size, all.length);
      },
    ));

  // The kernel keeps these over a restart and an upgrade: a name that changes rewrites everything.
  test("are stable", () => {
    const http = { importKey: "demo/serve", protocol: "TCP", port: 80 } as const;
    assert.equal(serviceChain(http), "CSP-SVC-ZXRW4YYXZOJNWMBM");
    assert.equal(serviceChain({ ...http, protocol: "UDP" }), "CSP-SVC-JCH3VCKZ63MBBBXR");
    assert.equal(prefixChain("", "241.0.16.0/20"), "CSP-241.0.16.0/20");
    assert.equal(prefixChain("X-", "198.51.100.0/24"), "CSP-X-198.51.100.0/24");
    assert.equal(prefixChain("", "fd00:241::/108"), "CSP-fd00.241../108");
    assert.equal(prefixChain("X-", "fd00:241:1234:5678::/64"), "CSP-X-6XAIT4RRU2KWPH4I");
  });

  test("do not depend on the name of a port", () => {
    const http = { importKey: "demo/serve", protocol: "TCP", port: 80 } as const;
    assert.equal(serviceChain({ ...http, ...{ portName: "web" } }), serviceChain(http));
  });
});

describe("rangeOf", () => {
  const RANGES = [
    ["f1", "IPv4", "241.0.0.0/8"],
    ["f100001", "IPv4", "241.0.0.16/28"],
    ["f1000011", "IPv4", "241.0.0.17/32"],
    ["fd0002410", "IPv6", "fd00:241::/36"],
  ] as const;
  for (const [prefix, family, text] of RANGES) {
    test(`of ${prefix} is ${text}`, () => assert.equal(rangeOf(prefix, family), text));
  }
});
