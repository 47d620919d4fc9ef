import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../../test/generators/facts.ts";
import { virtualService } from "../../../test/generators/services.ts";
import { finished } from "../backend.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import { conflictsOf, IpvsBackend, IpvsRuleset } from "./backend.ts";
import { diff, diffGarbage, markIdle } from "./diff.ts";
import { compare } from "./drift.ts";
import type { GuardOptions } from "./guard.ts";
import { SETTINGS } from "./settings.ts";
import {
  type Depth,
  type DestinationKey,
  draining,
  type KernelDestination,
  type KernelServer,
  type KernelState,
  nothing,
} from "./state.ts";

const OPTIONS: GuardOptions = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
};
const KEY: ServiceKey = "f100000a TCP 80";

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

const taking = (weight: number): KernelDestination => ({ weight, plain: true, idle: false });
const OTHER_TERMS = { scheduler: "lc", flags: 0x20, timeout: 0 };

/** The drift after an external change. */
function told(harm: (found: KernelState) => void, depth: Depth = "all"): string[] {
  const found = world();
  harm(found);
  return compare(world(), found, OPTIONS, depth).map(({ reason, what }) => `${reason} ${what}`);
}

describe("external changes of IPVS", () => {
  const SERVER = "server-changed TCP 241.0.0.10 80";
  const GUARD = "guard-changed table ip csp-ipvs";
  /** What another program does, what is told of it, and whether it is found although no destination is read. */
  const CASES: readonly (readonly [
    what: string,
    harm: (found: KernelState) => void,
    told: readonly string[],
    unread?: readonly string[],
  ])[] = [
    ["nothing", () => undefined, []],
    [
      "a deleted server",
      ({ servers }) => servers.delete(KEY),
      ["server-missing TCP 241.0.0.10 80"],
    ],
    [
      "a server with other terms",
      ({ servers }) => {
        const destinations = servers.get(KEY)?.destinations ?? new Map();
        servers.set(KEY, { terms: OTHER_TERMS, destinations });
      },
      [SERVER],
    ],
    ["a deleted VIP", ({ vips }) => vips.clear(), ["vip-missing 241.0.0.10"]],
    [
      "a deleted table",
      (found) => Object.assign(found, { rules: [] }),
      ["guard-missing table ip csp-ipvs"],
    ],
    ["a longer table", (found) => Object.assign(found, { rules: [...found.rules, ""] }), [GUARD]],
    ["a deleted element of the guard", ({ sets }) => sets.served.clear(), [GUARD]],
    ["a weight taken away", (found) => put(found, "0a01000b 8080", taking(0)), [SERVER], []],
    ["another weight", (found) => put(found, "0a01000b 8080", taking(7)), [SERVER], []],
    ["one that takes connections", (found) => put(found, "0a090909 80", taking(1)), [SERVER], []],
    ["one that takes none", (found) => put(found, "0a090909 80", taking(0)), [SERVER], []],
  ];
  for (const [what, harm, drift, unread = drift] of CASES) {
    test(`${what}: ${drift.join() || "no drift"}`, () => {
      assert.deepEqual(told(harm), drift);
      assert.deepEqual(told(harm, new Set([KEY])), drift);
      assert.deepEqual(
        told(harm, new Set()),
        unread,
        "destinations count only where they were read",
      );
    });
  }

  test("a changed sysctl, by its name, and only once", () => {
    const [before, found] = [world(), world()];
    const setting = SETTINGS[0] ?? assert.fail();
    found.wrong = [setting];
    assert.deepEqual(compare(before, found, OPTIONS, new Set()), [
      { reason: "setting-changed", what: "net.ipv4.vs.conntrack" },
    ]);
    assert.deepEqual(compare(found, found, OPTIONS), []);
  });

  test("a draining destination that is deleted, or gets connections again", () => {
    const seen = (now: KernelDestination | undefined) => {
      const [before, found] = [world(), world()];
      put(before, "0a090909 80", taking(0));
      if (now !== undefined) put(found, "0a090909 80", now);
      return compare(before, found, OPTIONS).map(({ reason }) => reason);
    };
    assert.deepEqual(seen(undefined), ["server-changed"]);
    assert.deepEqual(seen({ weight: 0, plain: true, idle: true }), []);
    assert.deepEqual(seen(taking(1)), ["server-changed"]);
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

const TERMS = { scheduler: "rr", flags: 0x20, timeout: 0 };
const A: DestinationKey = "0a01000b 8080";
const B: DestinationKey = "0a02000b 8080";

function destination(weight: number, idle = false): KernelDestination {
  return { weight, plain: true, idle };
}

/** A server with one destination that we drain, and one that gets connections. */
const server: KernelServer = {
  terms: TERMS,
  destinations: new Map([
    [A, destination(0)],
    [B, destination(1)],
  ]),
};

/** The destinations after the kernel has reported these. */
function after(...found: readonly (readonly [DestinationKey, KernelDestination])[]) {
  return Object.fromEntries(markIdle(server, new Map(found)).destinations);
}

describe("draining destinations", () => {
  test("are idle when their last connection has ended, or when another program deleted them", () => {
    const takes = [B, destination(1)] as const;
    for (const found of [[takes, [A, destination(0, true)] as const], [takes]]) {
      const { [A]: one } = after(...found);
      assert.deepEqual(one, destination(0, true));
    }
    assert.equal(after(takes, [A, destination(0)])[A]?.idle, false);
  });

  test("are not those whose weight another program set to 0", () => {
    const found = after([A, destination(0)], [B, destination(0, true)]);
    assert.deepEqual(found[B], destination(1));
  });

  test("are not idle if another program gave them a weight; added destinations do not count", () => {
    const found = after([A, destination(5)], ["0a09090a 80", destination(0, true)]);
    assert.deepEqual(Object.keys(found), [A, B]);
    assert.deepEqual(found[A], destination(0));
  });
});

const OTHER: ServiceKey = "f100000a TCP 443";
/** Another program's: it has no mark of ours. */
const FOREIGN: KernelServer = {
  terms: { scheduler: "lc", flags: 0, timeout: 0 },
  destinations: new Map([["c6120009 9", { weight: 1, plain: true, idle: false }]]),
};
const WEB = virtualService();
const TLS = virtualService({ portName: "https", port: 443 });

/** A new agent on a kernel with a foreign server in the place of the first service. */
function blocked() {
  const state: KernelState = nothing();
  state.servers.set(KEY, FOREIGN);
  const ruleset = new IpvsRuleset("rr");
  ruleset.set("demo/serve", [WEB, TLS]);
  const tx = finished(diff(state, finished(ruleset.take()), OPTIONS));
  tx.settle(state);
  return { state, ruleset, text: String(tx) };
}

describe("a foreign server in the place of ours", () => {
  test("is not changed, the guard admits nothing to it, and the import's other port is served", () => {
    const { state, text } = blocked();
    assert.doesNotMatch(text, /-server TCP 241\.0\.0\.10 80 |-destination TCP 241\.0\.0\.10 80 /);
    assert.deepEqual([...state.sets.served.keys()], [OTHER]);
    assert.equal(state.servers.get(KEY), FOREIGN);
  });

  test("is reported with its settings and the command that removes it, in either family", () => {
    const { state } = blocked();
    assert.deepEqual(conflictsOf(state, "IPv4"), [
      {
        importKey: "demo/serve",
        servicePort: "demo/serve:http",
        protocol: "TCP",
        reason: "server-foreign",
        message:
          "demo/serve:http: another program's virtual server exists at TCP 241.0.0.10:80 (scheduler lc, to 198.18.0.9:9). If it is not needed: ipvsadm -D -t 241.0.0.10:80",
      },
    ]);
    const six = nothing();
    const taken = { importKey: "demo/serve", servicePort: "demo/serve:s" } as const;
    six.blocked.set(`fd000241${"0".repeat(23)}1 SCTP 7`, taken);
    assert.match(
      conflictsOf(six, "IPv6")[0]?.message ?? "",
      /no destination.*ipvsadm -D --sctp-service \[fd00:241::1\]:7$/,
    );
  });

  test("causes no transaction once it is reported, and neither does garbage", () => {
    const { state } = blocked();
    const again = new IpvsRuleset("rr");
    again.set("demo/serve", [WEB, TLS]);
    assert.ok(finished(diff(state, finished(again.take()), OPTIONS)).empty);
    assert.ok(diffGarbage(state, draining(state), new Map(), false, OPTIONS).empty);
  });

  test("is replaced by ours after its deletion is detected", () => {
    const { state, ruleset } = blocked();
    const found = { ...state, servers: new Map(state.servers) };
    found.servers.delete(KEY);
    assert.deepEqual(compare(state, found, OPTIONS, new Set()), [
      { reason: "server-freed", what: "TCP 241.0.0.10 80" },
    ]);
    state.servers.delete(KEY);
    ruleset.set("demo/serve", [WEB, TLS]);
    const tx = finished(diff(state, finished(ruleset.take()), OPTIONS));
    assert.match(String(tx), /new-server TCP 241\.0\.0\.10 80 wrr/);
    tx.settle(state);
    assert.deepEqual(conflictsOf(state, "IPv4"), []);
  });

  test("is not reported for a service that is no longer desired", () => {
    const { state, ruleset } = blocked();
    ruleset.set("demo/serve", [TLS]);
    finished(diff(state, finished(ruleset.take()), OPTIONS)).settle(state);
    assert.equal(state.blocked.size, 0);
    assert.equal(state.servers.get(KEY), FOREIGN);
  });

  test("may be at an explicit VIP that no device or rule of ours has; one with our mark there is used if desired, and else left alone", () => {
    const vip = "1.2.3.4";
    const [web, tls]: ServiceKey[] = ["01020304 TCP 80", "01020304 TCP 443"];
    const state = nothing();
    const { terms } = FOREIGN;
    state.servers.set("01020304 TCP 80", { terms, destinations: new Map(), far: true });
    const marked = { terms: { ...terms, flags: 32 }, destinations: new Map(), far: true } as const;
    state.servers.set("01020304 TCP 443", marked);
    state.servers.set("01020304 TCP 99", marked);
    const ruleset = new IpvsRuleset("rr");
    ruleset.set("demo/serve", [
      { ...WEB, vips: [vip] },
      { ...TLS, vips: [vip] },
    ]);
    const tx = finished(diff(state, finished(ruleset.take()), OPTIONS));
    assert.match(String(tx), /^set-server TCP 1\.2\.3\.4 443 /m);
    assert.doesNotMatch(String(tx), /-server TCP 1\.2\.3\.4 (80|99)/);
    tx.settle(state);
    assert.deepEqual([...state.blocked.keys()], [web]);
    assert.deepEqual([...state.sets.served.keys()], [tls]);
    assert.match(conflictsOf(state, "IPv4")[0]?.message ?? "", /\(scheduler lc\)/);
    assert.deepEqual(compare(state, { ...state, servers: new Map(state.servers) }, OPTIONS), []);
  });

  test("that lost our mark is ours, as long as the guard admits connections to it", () => {
    const { state, ruleset } = blocked();
    const existing = state.servers.get(OTHER) ?? assert.fail();
    state.servers.set(OTHER, { ...existing, terms: { ...existing.terms, flags: 0 } });
    ruleset.set("demo/serve", [WEB, TLS]);
    const tx = finished(diff(state, finished(ruleset.take()), OPTIONS));
    assert.match(String(tx), /set-server TCP 241\.0\.0\.10 443 wrr flags 32/);
  });
});

/** Rules that keep iptables' DNAT and kube-proxy's NodePorts from translating VIPs. */
const BOUND = /dnat to ip daddr/;

/** One pass on a kernel in this state: the transaction, and the state after it. */
function sync(backend: IpvsBackend, state: KernelState) {
  const ruleset = backend.ruleset();
  ruleset.set("demo/serve", [virtualService()]);
  const tx = finished(backend.diff(state, finished(ruleset.take())));
  tx.settle(state);
  return { tx: String(tx), state };
}

describe("a node with rules of another backend", () => {
  test("lets these translate VIPs until they are removed", () => {
    const backend = new IpvsBackend({ ...OPTIONS, scheduler: "rr" });
    const { tx, state } = sync(backend, { ...nothing(), shared: true });
    assert.doesNotMatch(tx, BOUND);
    assert.equal(sync(backend, state).tx, "");
    const bound = diffGarbage(state, [], new Map(), true, OPTIONS);
    assert.match(String(bound), BOUND);
    // What is served stays served: the table is written as a whole.
    assert.match(String(bound), /add element ip csp-ipvs served \{ 241\.0\.0\.10 \. tcp \. 80/);
    assert.doesNotMatch(String(bound), /delete element/);
    bound.settle(state);
    assert.equal(state.shared, false);
    assert.equal(sync(backend, state).tx, "");
  });
});
