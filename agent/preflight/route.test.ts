import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../test/support/worlds.ts";
import { jsonList, judgeRoute, parseRoute, type RouteFact, routeQuery } from "./route.ts";
import type { Outcome } from "./sight.ts";

function said(stdout: string): Outcome {
  return { status: 0, stdout, stderr: "", missing: false };
}

function refused(words: string): Outcome {
  return { status: 2, stdout: "", stderr: `RTNETLINK answers: ${words}\n`, missing: false };
}

/** What iproute2 6.1 says, and what is made of it for 241.0.0.0/8 or fd00:241::/108. */
const CASES: readonly [name: string, Outcome, RouteFact | undefined, reason: string | undefined][] =
  [
    [
      "a default route",
      said(
        '[{"dst":"241.0.0.1","gateway":"192.0.2.1","dev":"eth0","prefsrc":"192.0.2.2","flags":[],"uid":0,"cache":[]}]',
      ),
      { kind: "route", device: "eth0", source: "192.0.2.2" },
      undefined,
    ],
    ["no route", refused("Network is unreachable"), { kind: "none" }, "no-route"],
    [
      "unreachable",
      refused("No route to host"),
      { kind: "refused", by: "unreachable" },
      "route-refuses",
    ],
    [
      "blackhole",
      refused("Invalid argument"),
      { kind: "refused", by: "blackhole" },
      "route-refuses",
    ],
    [
      "prohibit",
      refused("Permission denied"),
      { kind: "refused", by: "prohibit" },
      "route-refuses",
    ],
    [
      "an address of the node's own",
      said(
        '[{"type":"local","dst":"241.0.0.1","dev":"lo","prefsrc":"241.0.0.1","flags":[],"uid":0,"cache":["local"]}]',
      ),
      { kind: "route", type: "local", device: "lo", source: "241.0.0.1" },
      "vip-on-node",
    ],
    [
      "a device, and no address anywhere",
      said('[{"dst":"241.0.0.1","dev":"d0","flags":[],"uid":0,"cache":[]}]'),
      { kind: "route", device: "d0" },
      "wrong-source",
    ],
    [
      "IPv6 without an address of its own",
      said(
        '[{"dst":"fd00:241::1","from":"::","dev":"d0","prefsrc":"::1","metric":1024,"flags":[],"pref":"medium"}]',
      ),
      { kind: "route", device: "d0", source: "::1" },
      "wrong-source",
    ],
    [
      "a link-local source",
      said('[{"dst":"fd00:241::1","from":"::","dev":"d0","prefsrc":"fe80::1","flags":[]}]'),
      { kind: "route", device: "d0", source: "fe80::1" },
      "wrong-source",
    ],
    [
      "a ClusterSetIP as source",
      said('[{"dst":"241.0.0.1","dev":"d0","prefsrc":"241.0.0.9","flags":[]}]'),
      { kind: "route", device: "d0", source: "241.0.0.9" },
      "wrong-source",
    ],
    [
      "no program",
      { status: undefined, stdout: "", stderr: "", missing: true },
      undefined,
      "not-tested",
    ],
    [
      "busybox",
      { status: 1, stdout: "", stderr: "ip: unrecognized option: j\n", missing: false },
      undefined,
      "not-tested",
    ],
    ["no JSON", said("241.0.0.1 via 192.0.2.1"), undefined, "not-tested"],
    ["an empty list", said("[]"), undefined, "not-tested"],
  ];

describe("the route to ClusterSetIPs", () => {
  for (const [name, outcome, fact, reason] of CASES) {
    test(`${name}: ${reason ?? "well"}`, () => {
      assert.deepEqual(parseRoute(outcome), fact);
      const range = name.includes("IPv6") ? "fd00:241::/108" : "241.0.0.0/8";
      const verdict = judgeRoute(cidr(range), fact);
      assert.equal(verdict.reason, reason);
      assert.equal(
        verdict.state,
        { undefined: "well", "not-tested": "unknown" }[`${reason}`] ?? "failing",
      );
    });
  }

  test("the advice is a command that mends it", () => {
    const { advice } = judgeRoute(cidr("fd00:241::/108"), { kind: "none" });
    assert.match(advice ?? "", /ip -6 route add fd00:241::\/108 dev <uplink> src <node address>/);
  });

  test("each family is asked for by its own flag", () => {
    assert.deepEqual(routeQuery("fd00::1", "IPv6").slice(0, 2), ["ip", "-6"]);
    assert.deepEqual(routeQuery("241.0.0.1", "IPv4").slice(0, 2), ["ip", "-4"]);
  });

  test("JSON that is no list of objects is an empty one", () => {
    for (const text of ["", "{}", "null", "[null, 1]", "[", '"x"'])
      assert.deepEqual(jsonList(text), []);
  });
});
