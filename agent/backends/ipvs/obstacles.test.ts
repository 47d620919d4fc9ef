import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { virtualService } from "../../../test/support/services.ts";
import { cidr } from "../../../test/support/worlds.ts";
import { compare } from "./compare.ts";
import { diff, diffIdle } from "./diff.ts";
import type { GuardOptions } from "./guard.ts";
import { obstaclesOf } from "./obstacles.ts";
import { IpvsRuleset } from "./ruleset.ts";
import { type Believed, nothing, type ServerKey, type StandingServer } from "./state.ts";

const OPTIONS: GuardOptions = {
  family: "IPv4",
  clusterSetCidr: cidr("241.0.0.0/8"),
  masquerade: { mode: "none", podCidrs: [] },
};
const KEY: ServerKey = "f100000a TCP 80";
const OTHER: ServerKey = "f100000a TCP 443";
/** Somebody else's: it carries no mark of ours. */
const FOREIGN: StandingServer = {
  terms: { scheduler: "lc", flags: 0, timeout: 0 },
  destinations: new Map([["c6120009 9", { weight: 1, plain: true, idle: false }]]),
};
const WEB = virtualService();
const TLS = virtualService({ portName: "https", port: 443 });

/** What a new agent does in a kernel where somebody else has a server at the first service's place. */
function world() {
  const believed: Believed = nothing();
  believed.servers.set(KEY, FOREIGN);
  const ruleset = new IpvsRuleset("rr");
  ruleset.set("demo/serve", [WEB, TLS]);
  const tx = diff(believed, ruleset.take(), OPTIONS);
  tx.settle(believed);
  return { believed, ruleset, text: String(tx) };
}

describe("a server of somebody else in the place of ours", () => {
  test("is not touched, the guard lets nothing through to it, and the import's other port is served", () => {
    const { believed, text } = world();
    assert.doesNotMatch(text, /-server TCP 241\.0\.0\.10 80 |-destination TCP 241\.0\.0\.10 80 /);
    assert.deepEqual([...believed.sets.served.keys()], [OTHER]);
    assert.equal(believed.servers.get(KEY), FOREIGN);
  });

  test("is told with what is there, and what removes it, in either family", () => {
    const { believed } = world();
    assert.deepEqual(obstaclesOf(believed, "IPv4"), [
      {
        importKey: "demo/serve",
        servicePort: "demo/serve:http",
        protocol: "TCP",
        reason: "server-foreign",
        message:
          "demo/serve:http: a virtual server that is not ours stands at TCP 241.0.0.10:80 (scheduler lc, to 198.18.0.9:9). If nobody needs it: ipvsadm -D -t 241.0.0.10:80",
      },
    ]);
    const six = nothing();
    const blocked = { importKey: "demo/serve", servicePort: "demo/serve:s" } as const;
    six.blocked.set(`fd000241${"0".repeat(23)}1 SCTP 7`, blocked);
    assert.match(
      obstaclesOf(six, "IPv6")[0]?.message ?? "",
      /no destination.*ipvsadm -D --sctp-service \[fd00:241::1\]:7$/,
    );
  });

  test("once told it is no work any more, and neither is tidying", () => {
    const { believed } = world();
    const again = new IpvsRuleset("rr");
    again.set("demo/serve", [WEB, TLS]);
    assert.ok(diff(believed, again.take(), OPTIONS).empty);
    assert.ok(diffIdle(believed, OPTIONS).empty);
  });

  test("when it goes, that is seen, and ours takes the place", () => {
    const { believed, ruleset } = world();
    const found = { ...believed, servers: new Map(believed.servers) };
    found.servers.delete(KEY);
    assert.deepEqual(compare(believed, found, "IPv4", new Set()), [
      { reason: "server-freed", what: "TCP 241.0.0.10 80" },
    ]);
    believed.servers.delete(KEY);
    ruleset.set("demo/serve", [WEB, TLS]);
    const tx = diff(believed, ruleset.take(), OPTIONS);
    assert.match(String(tx), /new-server TCP 241\.0\.0\.10 80 rr/);
    tx.settle(believed);
    assert.deepEqual(obstaclesOf(believed, "IPv4"), []);
  });

  test("stays out of the way of a service that is not wanted any more", () => {
    const { believed, ruleset } = world();
    ruleset.set("demo/serve", [TLS]);
    diff(believed, ruleset.take(), OPTIONS).settle(believed);
    assert.equal(believed.blocked.size, 0);
    assert.equal(believed.servers.get(KEY), FOREIGN);
  });

  test("at an explicit VIP that no device or rule of ours names, too; what carries our mark there is taken up if it is wanted, and else let be", () => {
    const vip = "1.2.3.4";
    const [web, tls]: ServerKey[] = ["01020304 TCP 80", "01020304 TCP 443"];
    const believed = nothing();
    const { terms } = FOREIGN;
    believed.servers.set("01020304 TCP 80", { terms, destinations: new Map(), far: true });
    const marked = { terms: { ...terms, flags: 32 }, destinations: new Map(), far: true } as const;
    believed.servers.set("01020304 TCP 443", marked);
    believed.servers.set("01020304 TCP 99", marked);
    const ruleset = new IpvsRuleset("rr");
    ruleset.set("demo/serve", [
      { ...WEB, vips: [vip] },
      { ...TLS, vips: [vip] },
    ]);
    const tx = diff(believed, ruleset.take(), OPTIONS);
    assert.match(String(tx), /^set-server TCP 1\.2\.3\.4 443 /m);
    assert.doesNotMatch(String(tx), /-server TCP 1\.2\.3\.4 (80|99)/);
    tx.settle(believed);
    assert.deepEqual([...believed.blocked.keys()], [web]);
    assert.deepEqual([...believed.sets.served.keys()], [tls]);
    assert.match(obstaclesOf(believed, "IPv4")[0]?.message ?? "", /\(scheduler lc\)/);
    assert.deepEqual(
      compare(believed, { ...believed, servers: new Map(believed.servers) }, "IPv4"),
      [],
    );
  });

  test("ours that has lost its mark is ours, as long as the guard leads to it", () => {
    const { believed, ruleset } = world();
    const standing = believed.servers.get(OTHER) ?? assert.fail();
    believed.servers.set(OTHER, { ...standing, terms: { ...standing.terms, flags: 0 } });
    ruleset.set("demo/serve", [WEB, TLS]);
    const tx = diff(believed, ruleset.take(), OPTIONS);
    assert.match(String(tx), /set-server TCP 241\.0\.0\.10 443 rr flags 32/);
  });
});
