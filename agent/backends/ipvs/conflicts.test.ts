import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../../test/generators/facts.ts";
import { virtualService } from "../../../test/generators/services.ts";
import { finished } from "../backend.ts";
import type { ServiceKey } from "../nft/service-key.ts";
import { conflictsOf } from "./conflicts.ts";
import { diff, diffGarbage } from "./diff.ts";
import { compare } from "./drift.ts";
import type { GuardOptions } from "./guard.ts";
import { IpvsRuleset } from "./ruleset.ts";
import { draining, type KernelServer, type KernelState, nothing } from "./state.ts";

const OPTIONS: GuardOptions = {
  family: "IPv4",
  clusterSetCidrs: [cidr("241.0.0.0/8")],
  masquerade: { mode: "none", podCidrs: [] },
};
const KEY: ServiceKey = "f100000a TCP 80";
const OTHER: ServiceKey = "f100000a TCP 443";
/** Another program's: it has no mark of ours. */
const FOREIGN: KernelServer = {
  terms: { scheduler: "lc", flags: 0, timeout: 0 },
  destinations: new Map([["c6120009 9", { weight: 1, plain: true, idle: false }]]),
};
const WEB = virtualService();
const TLS = virtualService({ portName: "https", port: 443 });

/** A new agent on a kernel with a foreign server in the place of the first service. */
function world() {
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
    const { state, text } = world();
    assert.doesNotMatch(text, /-server TCP 241\.0\.0\.10 80 |-destination TCP 241\.0\.0\.10 80 /);
    assert.deepEqual([...state.sets.served.keys()], [OTHER]);
    assert.equal(state.servers.get(KEY), FOREIGN);
  });

  test("is reported with its settings and the command that removes it, in either family", () => {
    const { state } = world();
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
    const blocked = { importKey: "demo/serve", servicePort: "demo/serve:s" } as const;
    six.blocked.set(`fd000241${"0".repeat(23)}1 SCTP 7`, blocked);
    assert.match(
      conflictsOf(six, "IPv6")[0]?.message ?? "",
      /no destination.*ipvsadm -D --sctp-service \[fd00:241::1\]:7$/,
    );
  });

  test("causes no transaction once it is reported, and neither does garbage", () => {
    const { state } = world();
    const again = new IpvsRuleset("rr");
    again.set("demo/serve", [WEB, TLS]);
    assert.ok(finished(diff(state, finished(again.take()), OPTIONS)).empty);
    assert.ok(diffGarbage(state, draining(state), new Map(), false, OPTIONS).empty);
  });

  test("is replaced by ours after its deletion is detected", () => {
    const { state, ruleset } = world();
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
    const { state, ruleset } = world();
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
    const { state, ruleset } = world();
    const existing = state.servers.get(OTHER) ?? assert.fail();
    state.servers.set(OTHER, { ...existing, terms: { ...existing.terms, flags: 0 } });
    ruleset.set("demo/serve", [WEB, TLS]);
    const tx = finished(diff(state, finished(ruleset.take()), OPTIONS));
    assert.match(String(tx), /set-server TCP 241\.0\.0\.10 443 wrr flags 32/);
  });
});
