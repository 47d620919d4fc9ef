import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { PROTOCOLS } from "../../../api/protocol.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { virtualService } from "../../../test/generators/services.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import * as names from "./chain-name.ts";
import { serviceChain } from "./chain-name.ts";
import { recentList, recentPrefixes } from "./recent-lists.ts";

const label = fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
const service = fc.record({
  importKey: fc.tuple(label, label).map(([ns, name]) => `${ns}/${name}` as const),
  protocol: fc.constantFrom(...PROTOCOLS),
  port: fc.integer({ min: 1, max: 65535 }),
});
describe("names of chains", () => {
  test("are unique, and have at most 28 characters, none of them a colon", () =>
    forAll(
      [fc.uniqueArray(service, { selector: (s) => JSON.stringify(s), maxLength: 40 })],
      (services) => {
        const fixed = Object.values(names).filter((name) => typeof name === "string");
        const all = [...fixed, ...services.map(serviceChain)];
        assert.equal(new Set(all).size, all.length);
        for (const name of all) assert.match(name, /^CSP-[-A-Z0-9]{0,24}$/);
      },
    ));

  // The kernel keeps these over a restart and an upgrade: a name that changes rewrites everything.
  test("are stable", () => {
    const http = { importKey: "demo/serve", protocol: "TCP", port: 80 } as const;
    assert.equal(serviceChain(http), "CSP-SVC-ZXRW4YYXZOJNWMBM");
    assert.equal(serviceChain({ ...http, protocol: "UDP" }), "CSP-SVC-JCH3VCKZ63MBBBXR");
  });
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
