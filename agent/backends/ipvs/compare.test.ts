import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { virtualService } from "../../../test/support/services.ts";
import { cidr } from "../../../test/support/worlds.ts";
import { compare, type Depth, suspected } from "./compare.ts";
import { diff } from "./diff.ts";
import type { GuardOptions } from "./guard.ts";
import { IpvsRuleset } from "./ruleset.ts";
import { SETTINGS } from "./settings.ts";
import {
  type Believed,
  type DestinationKey,
  nothing,
  type ServerKey,
  type StandingDestination,
} from "./state.ts";

const OPTIONS: GuardOptions = {
  family: "IPv4",
  clusterSetCidr: cidr("241.0.0.0/8"),
  masquerade: { mode: "none", podCidrs: [] },
};
const KEY = "f100000a TCP 80";

/** Gives the service's server a destination. */
function put({ servers }: Believed, key: DestinationKey, destination: StandingDestination): void {
  const server = servers.get(KEY);
  if (server === undefined) throw new Error(`no server ${KEY}`);
  const destinations = new Map(server.destinations).set(key, destination);
  servers.set(KEY, { ...server, destinations });
}

/** A kernel with one service. */
function world(): Believed {
  const believed = nothing();
  const ruleset = new IpvsRuleset("rr");
  ruleset.set("demo/serve", [virtualService()]);
  diff(believed, ruleset.take(), OPTIONS).settle(believed);
  return believed;
}

/** What is told when somebody has done this to it. */
function told(harm: (found: Believed) => void, depth: Depth = "all"): string[] {
  const found = world();
  harm(found);
  return compare(world(), found, "IPv4", depth).map(({ reason, what }) => `${reason} ${what}`);
}

describe("what somebody else did to IPVS", () => {
  test("nothing: nothing is told", () => {
    assert.deepEqual(
      told(() => undefined),
      [],
    );
  });

  for (const [name, depth] of [
    ["all", "all"],
    ["servers alone", new Set<ServerKey>()],
  ] as const) {
    test(`a server that is gone, or has other terms (${name})`, () => {
      assert.deepEqual(
        told((found) => found.servers.delete(KEY), depth),
        ["server-missing TCP 241.0.0.10 80"],
      );
      const terms = { scheduler: "lc", flags: 0x20, timeout: 0 };
      const destinations = world().servers.get(KEY)?.destinations ?? new Map();
      assert.deepEqual(
        told((found) => found.servers.set(KEY, { terms, destinations }), depth),
        ["server-changed TCP 241.0.0.10 80"],
      );
    });

    test(`a VIP, and the table (${name})`, () => {
      assert.deepEqual(
        told((found) => found.vips.clear(), depth),
        ["vip-missing 241.0.0.10"],
      );
      const without = (found: Believed) => {
        found.rules = [];
      };
      assert.deepEqual(told(without, depth), ["guard-missing table ip csp-ipvs"]);
      const longer = (found: Believed) => {
        found.rules = [...found.rules, ""];
      };
      assert.deepEqual(told(longer, depth), ["guard-changed table ip csp-ipvs"]);
    });
  }

  test("destinations and elements tell something only where they were read", () => {
    const harm = (found: Believed) => {
      const server = found.servers.get(KEY);
      if (server) found.servers.set(KEY, { ...server, destinations: new Map() });
      found.sets.served.clear();
    };
    assert.deepEqual(told(harm, new Set()), []);
    assert.deepEqual(told(harm, new Set([KEY])), ["server-changed TCP 241.0.0.10 80"]);
    assert.deepEqual(told(harm), [
      "server-changed TCP 241.0.0.10 80",
      "guard-changed table ip csp-ipvs",
    ]);
  });

  test("a switch that somebody has set otherwise, by its name, and only once", () => {
    const [before, found] = [world(), world()];
    const setting = SETTINGS[0] ?? assert.fail();
    found.wrong = [setting];
    assert.deepEqual(compare(before, found, "IPv4", new Set()), [
      { reason: "setting-changed", what: "net.ipv4.vs.conntrack" },
    ]);
    assert.deepEqual(compare(found, found, "IPv4"), []);
  });

  for (const [what, key, weight] of [
    ["a weight taken away", "0a01000b 8080", 0],
    ["another weight", "0a01000b 8080", 7],
    ["one that takes connections", "0a090909 80", 1],
    ["one that takes none", "0a090909 80", 0],
  ] as const) {
    test(`a destination that somebody else has changed, or added: ${what}`, () => {
      const harm = (found: Believed) => put(found, key, { weight, plain: true, idle: false });
      assert.deepEqual(told(harm), ["server-changed TCP 241.0.0.10 80"]);
    });
  }

  test("a destination that we drain is somebody else's doing if it is gone, or takes connections again", () => {
    const seen = (now: StandingDestination | undefined) => {
      const [before, found] = [world(), world()];
      put(before, "0a090909 80", { weight: 0, plain: true, idle: false });
      if (now !== undefined) put(found, "0a090909 80", now);
      return compare(before, found, "IPv4").map(({ reason }) => reason);
    };
    assert.deepEqual(seen(undefined), ["server-changed"]);
    assert.deepEqual(seen({ weight: 0, plain: true, idle: true }), []);
    assert.deepEqual(seen({ weight: 1, plain: true, idle: false }), ["server-changed"]);
  });

  test("beside kube-proxy's device, who deletes servers is suspected, with the line that mends it", () => {
    const range = cidr("241.0.0.0/8");
    const { suspect } = suspected({ reason: "server-missing", what: "x" }, range);
    assert.equal(suspect, "kube-proxy in ipvs mode: its ipvs.excludeCIDRs must hold 241.0.0.0/8");
    assert.equal(suspected({ reason: "vip-missing", what: "x" }, range).suspect, undefined);
  });
});
