import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { isAddress, parseAddress } from "../../../api/address.ts";
import { cidrOf } from "../../../api/cidr.ts";
import { PROTOCOLS } from "../../../api/protocol.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { virtualService } from "../../../test/generators/services.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import * as names from "./chain-name.ts";
import { prefixChain, serviceChain } from "./chain-name.ts";
import { PrefixTree } from "./prefix-tree.ts";
import { recentList, recentPrefixes } from "./recent-lists.ts";

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
});

const vip = fc
  .oneof(
    fc.integer({ min: 0, max: 0xffffffff }),
    fc.integer({ min: 0xf1000000, max: 0xf10000ff }),
    fc.integer({ min: 0xf1000000, max: 0xf1000fff }),
  )
  .map((n) => n.toString(16).padStart(8, "0"));

/** Close together, so that one far off moves the place where the root branches. */
const near = fc.integer({ min: 0, max: 0xff }).map((n) => (0xf1000000 + n * 5).toString(16));

function contents(tree: PrefixTree): Map<string, string> {
  return new Map([...tree.prefixes()].map((p) => [p, JSON.stringify(tree.node(p))]));
}

function treeOf(vips: Iterable<string>): PrefixTree {
  const tree = new PrefixTree();
  for (const v of vips) tree.add(v);
  return tree;
}

test("every VIP is reached from the root, through nodes of at most 16 parts; only leaves have a single one", () =>
  forAll([fc.uniqueArray(vip, { maxLength: 300 })], (vips) => {
    const tree = treeOf(vips);
    const reached: string[] = [];
    for (const prefix of tree.prefixes()) {
      const parts = tree.node(prefix) ?? assert.fail(`${prefix} is listed, but no node`);
      assert.ok(parts.length <= 16 && (parts.length > 1 || vips.length < 2), prefix);
      for (const part of parts) {
        assert.ok((part.kind === "vip" ? part.vip : part.prefix).startsWith(prefix));
        if (part.kind === "vip") reached.push(part.vip);
      }
    }
    assert.deepEqual(reached.sort(), [...vips].sort());
  }));

test("add and delete record all changed nodes, and the shape does not depend on the order", () =>
  forAll(
    [
      fc.oneof(
        fc.uniqueArray(vip, { maxLength: 120 }),
        fc.uniqueArray(near, { minLength: 12, maxLength: 40 }),
      ),
      fc.oneof(fc.array(vip, { maxLength: 60 }), fc.array(fc.oneof(near, vip), { maxLength: 12 })),
    ],
    (start, toggles) => {
      const tree = treeOf(start);
      const present = new Set(start);
      tree.takeTouched();
      const kept = contents(tree);
      for (const v of toggles.flatMap((v, i) => (i % 3 === 0 ? [v, start[i] ?? v] : [v]))) {
        if (present.delete(v)) tree.delete(v);
        else {
          present.add(v);
          tree.add(v);
        }
        for (const prefix of tree.takeTouched()) {
          const node = tree.node(prefix);
          if (node === undefined) kept.delete(prefix);
          else kept.set(prefix, JSON.stringify(node));
        }
        assert.deepEqual(kept, contents(tree));
      }
      assert.deepEqual(contents(treeOf([...present].sort().reverse())), contents(tree));
    },
  ));

test("the root, too, branches where its VIPs differ", () => {
  const spread = Array.from({ length: 17 }, (_, i) => `f1${i.toString(16).padStart(2, "0")}0001`);
  const prefixes = [...treeOf(spread).prefixes()];
  assert.deepEqual(prefixes, ["", "f10"], "f1, which all share, is the root's own range");
});

test("a touched VIP marks the one node that has it", () => {
  const vips = Array.from(
    { length: 40 },
    (_, i) => `f10000${(i * 5).toString(16).padStart(2, "0")}`,
  );
  const tree = treeOf(vips);
  tree.takeTouched();
  tree.touch("f1000005");
  const [holder, ...others] = tree.takeTouched();
  assert.deepEqual(others, []);
  assert.ok(
    tree.node(holder ?? "")?.some((part) => part.kind === "vip" && part.vip === "f1000005"),
  );
});

const HTTP = { portName: "http", port: 80 } as const;
const HTTPS = { portName: "https", port: 443 } as const;
const ADMIN = { portName: "admin", port: 9000 } as const;

/** A port with ClientIP affinity and endpoints at these addresses. */
function sticky(change: Partial<VirtualService>, ...addresses: readonly string[]): VirtualService {
  const endpoints = addresses.map((address) => ({
    address,
    port: change.port ?? 1,
  }));
  return virtualService({ affinitySeconds: 60, ...change, endpoints });
}

function prefixes(...services: readonly VirtualService[]): string[] {
  return recentPrefixes(services).map(([, prefix]) => prefix);
}

describe("the recent lists of an import", () => {
  test("are separate for ports with other addresses, which share among themselves", () => {
    assert.deepEqual(
      prefixes(
        sticky(HTTP, "10.1.0.1", "10.1.0.2"),
        sticky(HTTPS, "10.1.0.1"),
        sticky({ ...ADMIN, protocol: "UDP" }, "10.1.0.1", "10.1.0.3"),
        sticky({ ...ADMIN, portName: "" }, "10.1.0.1"),
      ),
      [
        "CSP-demo.serve",
        "CSP-demo.serve.443-tcp",
        "CSP-demo.serve.9000-udp",
        "CSP-demo.serve.443-tcp",
      ],
    );
  });

  test("keep their names when all ports scale", () => {
    const before = prefixes(sticky(HTTP, "10.1.0.1", "10.1.0.2"), sticky(HTTPS, "10.1.0.1"));
    const after = prefixes(
      sticky(HTTP, "10.1.0.1", "10.1.0.2", "10.1.0.3"),
      sticky(HTTPS, "10.1.0.1", "10.1.0.3"),
    );
    assert.deepEqual(after, before);
  });

  test("leave the plain name to the first port, even while it has no endpoint", () => {
    assert.deepEqual(prefixes(sticky(HTTP), sticky(HTTPS, "10.1.0.1")), [
      "CSP-demo.serve",
      "CSP-demo.serve.443-tcp",
    ]);
  });

  test("are unique: a name with dashes and digits does not collide with another import or port", () => {
    const names = [
      ["demo/serve", "10.1.0.1"],
      ["demo/serve-10", "10.1.0.1"],
      ["demo/serve-443-tcp", "10.1.0.1"],
      ["demo-serve/x", "10.1.0.1"],
      ["demo/serve-x", "10.1.0.1"],
    ] as const;
    const lists = names.flatMap(([importKey, address]) =>
      recentPrefixes([
        sticky({ ...HTTP, importKey }, address, "10.1.0.2"),
        sticky({ ...HTTPS, importKey }, address),
        sticky({ ...HTTPS, importKey, protocol: "UDP" }, "10.1.0.3", address),
      ]).map(([, prefix]) => recentList(prefix, address)),
    );
    assert.equal(new Set(lists).size, lists.length);
  });

  test("with the longest possible names have names that the kernel accepts", () => {
    const long = "x".repeat(63);
    const longest = {
      importKey: `${long}/${long}`,
      portName: long,
      port: 65535,
      protocol: "SCTP",
    } as const;
    const address = `fd00:${"1234:".repeat(6)}5678`;
    const pairs = recentPrefixes([
      sticky({ ...longest, family: "IPv6", port: 1 }),
      sticky({ ...longest, family: "IPv6" }, address),
    ]);
    for (const [, prefix] of pairs) {
      const list = recentList(prefix, address);
      // XT_RECENT_NAME_LEN is 200 with its terminating zero, and the name becomes a file in /proc.
      assert.ok(list.length < 200, `${list.length}`);
      assert.doesNotMatch(list, /\//);
    }
  });
});
