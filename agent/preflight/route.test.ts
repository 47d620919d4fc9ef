import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../test/generators/facts.ts";
import type { ProgramResult } from "../system/program-result.ts";
import { checkRoute, parseRoute, type RouteFact, routeQuery } from "./route.ts";

function output(stdout: string): ProgramResult {
  return { status: 0, stdout, stderr: "", missing: false };
}

function refused(words: string): ProgramResult {
  return { status: 2, stdout: "", stderr: `RTNETLINK answers: ${words}\n`, missing: false };
}

/** What iproute2 6.1 says, and what is made of it for 241.0.0.0/8 or fd00:241::/108. */
const CASES: Readonly<Record<string, readonly [ProgramResult, RouteFact | undefined, string]>> = {
  "a default route": [
    output(
      '[{"dst":"241.0.0.1","gateway":"192.0.2.1","dev":"eth0","prefsrc":"192.0.2.2","flags":[],"uid":0,"cache":[]}]',
    ),
    { kind: "route", device: "eth0", source: "192.0.2.2" },
    "ok",
  ],
  "no route": [refused("Network is unreachable"), { kind: "none" }, "no-route"],
  unreachable: [
    refused("No route to host"),
    { kind: "refused", by: "unreachable" },
    "route-refuses",
  ],
  blackhole: [refused("Invalid argument"), { kind: "refused", by: "blackhole" }, "route-refuses"],
  prohibit: [refused("Permission denied"), { kind: "refused", by: "prohibit" }, "route-refuses"],
  "an address of the node's own": [
    output(
      '[{"type":"local","dst":"241.0.0.1","dev":"lo","prefsrc":"241.0.0.1","flags":[],"uid":0,"cache":["local"]}]',
    ),
    { kind: "route", type: "local", device: "lo", source: "241.0.0.1" },
    "vip-on-node",
  ],
  "a device without any address": [
    output('[{"dst":"241.0.0.1","dev":"d0","flags":[],"uid":0,"cache":[]}]'),
    { kind: "route", device: "d0" },
    "wrong-source",
  ],
  "IPv6 without an address of its own": [
    output(
      '[{"dst":"fd00:241::1","from":"::","dev":"d0","prefsrc":"::1","metric":1024,"flags":[],"pref":"medium"}]',
    ),
    { kind: "route", device: "d0", source: "::1" },
    "wrong-source",
  ],
  "a link-local source": [
    output('[{"dst":"fd00:241::1","from":"::","dev":"d0","prefsrc":"fe80::1","flags":[]}]'),
    { kind: "route", device: "d0", source: "fe80::1" },
    "wrong-source",
  ],
  "a ClusterSetIP as source": [
    output('[{"dst":"241.0.0.1","dev":"d0","prefsrc":"241.0.0.9","flags":[]}]'),
    { kind: "route", device: "d0", source: "241.0.0.9" },
    "wrong-source",
  ],
  "no program": [
    { status: undefined, stdout: "", stderr: "", missing: true },
    undefined,
    "not-tested",
  ],
  busybox: [
    { status: 1, stdout: "", stderr: "ip: unrecognized option: j\n", missing: false },
    undefined,
    "not-tested",
  ],
  "no JSON": [output("241.0.0.1 via 192.0.2.1"), undefined, "not-tested"],
  "an empty list": [output("[]"), undefined, "not-tested"],
};

describe("the route to ClusterSetIPs", () => {
  for (const [name, [outcome, fact, expected]] of Object.entries(CASES)) {
    test(`${name}: ${expected}`, () => {
      assert.deepEqual(parseRoute(outcome), fact);
      const range = name.includes("IPv6") ? "fd00:241::/108" : "241.0.0.0/8";
      const finding = checkRoute(cidr(range), fact);
      assert.equal(finding.reason ?? "ok", expected);
      const state = { ok: "ok", "not-tested": "unknown" }[expected] ?? "failing";
      assert.equal(finding.state, state);
    });
  }

  test("the advice is the command that adds a route", () => {
    const { advice } = checkRoute(cidr("fd00:241::/108"), { kind: "none" });
    assert.match(advice ?? "", /ip -6 route add fd00:241::\/108 dev <uplink> src <node address>/);
  });

  test("each family is queried with its own flag", () => {
    assert.deepEqual(routeQuery("fd00::1", "IPv6").slice(0, 2), ["ip", "-6"]);
    assert.deepEqual(routeQuery("241.0.0.1", "IPv4").slice(0, 2), ["ip", "-4"]);
  });

  test("an answer that is no list of objects is no route", () => {
    for (const stdout of ["", "{}", "null", "[null, 1]", "[", '"x"'])
      assert.equal(parseRoute({ status: 0, stdout, stderr: "", missing: false }), undefined);
  });
});
