import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../../test/generators/facts.ts";
import { virtualService } from "../../../test/generators/services.ts";
import { finished } from "../backend.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import { diff } from "./diff.ts";
import { compare } from "./drift.ts";
import type { GuardOptions } from "./guard.ts";
import { IpvsRuleset } from "./ruleset.ts";
import { SETTINGS } from "./settings.ts";
import {
  type Depth,
  type DestinationKey,
  type KernelDestination,
  type KernelState,
  nothing,
} from "./state.ts";

const OPTIONS: GuardOptions = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
};
const KEY = "f100000a TCP 80";

/** Gives the service's server a destination. */
function put({ servers }: KernelState, key: DestinationKey, destination: KernelDestination): void {
  const server = servers.get(KEY);
  if (server === undefined) throw new Error(`no server ${KEY}`);
  const destinations = new Map(server.destinations).set(key, destination);
  servers.set(KEY, { ...server, destinations });
}

/** A kernel with one service. */
function world(): KernelState {
  const state = nothing();
  const ruleset = new IpvsRuleset("rr");
  ruleset.set("demo/serve", [virtualService()]);
  finished(diff(state, finished(ruleset.take()), OPTIONS)).settle(state);
  return state;
}

/** The drift after an external change. */
function told(harm: (found: KernelState) => void, depth: Depth = "all"): string[] {
  const found = world();
  harm(found);
  return compare(world(), found, OPTIONS, depth).map(({ reason, what }) => `${reason} ${what}`);
}

describe("external changes of IPVS", () => {
  test("none: no drift", () => {
    assert.deepEqual(
      told(() => undefined),
      [],
    );
  });

  for (const [name, depth] of [
    ["all", "all"],
    ["servers alone", new Set<ServiceKey>()],
  ] as const) {
    test(`a deleted server, or one with other terms (${name})`, () => {
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
      const without = (found: KernelState) => {
        found.rules = [];
      };
      assert.deepEqual(told(without, depth), ["guard-missing table ip csp-ipvs"]);
      const longer = (found: KernelState) => {
        found.rules = [...found.rules, ""];
      };
      assert.deepEqual(told(longer, depth), ["guard-changed table ip csp-ipvs"]);
    });
  }

  test("destinations count only where they were read", () => {
    const harm = (found: KernelState) => {
      const server = found.servers.get(KEY);
      if (server) found.servers.set(KEY, { ...server, destinations: new Map() });
    };
    assert.deepEqual(told(harm, new Set()), []);
    assert.deepEqual(told(harm, new Set([KEY])), ["server-changed TCP 241.0.0.10 80"]);
    assert.deepEqual(told(harm), ["server-changed TCP 241.0.0.10 80"]);
  });

  test("an element of the guard's sets that is deleted", () => {
    const harm = (found: KernelState) => found.sets.served.clear();
    assert.deepEqual(told(harm, new Set()), ["guard-changed table ip csp-ipvs"]);
  });

  test("a changed sysctl, by its name, and only once", () => {
    const [before, found] = [world(), world()];
    const setting = SETTINGS[0] ?? assert.fail();
    found.wrong = [setting];
    assert.deepEqual(compare(before, found, OPTIONS, new Set()), [
      { reason: "setting-changed", what: "net.ipv4.vs.conntrack" },
    ]);
    assert.deepEqual(compare(found, found, OPTIONS), []);
  });

  for (const [what, key, weight] of [
    ["a weight taken away", "0a01000b 8080", 0],
    ["another weight", "0a01000b 8080", 7],
    ["one that takes connections", "0a090909 80", 1],
    ["one that takes none", "0a090909 80", 0],
  ] as const) {
    test(`a changed or added destination: ${what}`, () => {
      const harm = (found: KernelState) => put(found, key, { weight, plain: true, idle: false });
      assert.deepEqual(told(harm), ["server-changed TCP 241.0.0.10 80"]);
    });
  }

  test("a draining destination that is deleted, or gets connections again", () => {
    const seen = (now: KernelDestination | undefined) => {
      const [before, found] = [world(), world()];
      put(before, "0a090909 80", { weight: 0, plain: true, idle: false });
      if (now !== undefined) put(found, "0a090909 80", now);
      return compare(before, found, OPTIONS).map(({ reason }) => reason);
    };
    assert.deepEqual(seen(undefined), ["server-changed"]);
    assert.deepEqual(seen({ weight: 0, plain: true, idle: true }), []);
    assert.deepEqual(seen({ weight: 1, plain: true, idle: false }), ["server-changed"]);
  });

  test("with kube-proxy's device, a deleted server has kube-proxy as suspect, with the configuration that fixes it", () => {
    const found = { ...world(), servers: new Map(), vips: new Set<string>(), kubeProxy: true };
    const drift = compare(world(), found, OPTIONS);
    const suspect = "kube-proxy in ipvs mode: its ipvs.excludeCIDRs must hold 241.0.0.0/8";
    assert.deepEqual(drift, [
      { reason: "server-missing", what: "TCP 241.0.0.10 80", suspect },
      { reason: "vip-missing", what: "241.0.0.10" },
    ]);
  });
});
