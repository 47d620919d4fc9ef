import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cidr } from "../../../test/generators/facts.ts";
import { virtualService } from "../../../test/generators/services.ts";
import type { PlannedEndpoint } from "../../plan/virtual-service.ts";
import { finished } from "../backend.ts";
import { diff } from "./diff.ts";
import { IptablesRuleset } from "./ruleset.ts";
import type { KernelState } from "./state.ts";

const CHAIN = "CSP-SVC-ZXRW4YYXZOJNWMBM";
const HERE: PlannedEndpoint = { address: "10.1.0.1", port: 8080, cluster: "c1" };

function newRuleset(family: "IPv4" | "IPv6" = "IPv4"): IptablesRuleset {
  return new IptablesRuleset({
    family,
    clusterSetCidrs: [cidr(family === "IPv4" ? "241.0.0.0/8" : "fd00:241::/108")],
    masquerade: { mode: "none", podCidrs: [] },
  });
}

/** A ruleset and the kernel that follows it. */
class Stage {
  readonly ruleset = newRuleset();
  readonly state: KernelState = { chains: new Map(), jumps: [] };

  /** The present transaction, without the rules that compare source and destination. */
  text(): string {
    const tx = finished(diff(this.state, finished(this.ruleset.take())));
    tx.settle(this.state);
    return tx.toString().replace(/^-A CSP-HAIRPIN .*\n/gm, "");
  }

  /** `count` explicit VIPs, one for each import. */
  explicit(count: number): string {
    for (let i = 0; i < 20; i++) {
      const service = virtualService({ importKey: `demo/e${i}`, vips: [`198.51.100.${i * 9}`] });
      this.ruleset.set(`demo/e${i}`, i < count ? [service] : []);
    }
    return this.text();
  }

  chains(infix: string): string[] {
    return [...this.state.chains.keys()].filter((key) => key.includes(` CSP-${infix}`)).sort();
  }

  jumpsTo(chain: string): number {
    return this.state.jumps.filter((jump) => jump.endsWith(` -j CSP-${chain}`)).length;
  }
}

describe("the first take", () => {
  test("without imports is the guard, an empty dispatch and the jumps to them", () => {
    assert.equal(
      new Stage().text(),
      `*filter
:CSP-GUARD - [0:0]
-A CSP-GUARD -p tcp -m conntrack --ctstate NEW -m comment --comment "no endpoint for this ClusterSetIP and port" -j REJECT --reject-with tcp-reset
-A CSP-GUARD -m conntrack --ctstate NEW -m comment --comment "no endpoint for this ClusterSetIP and port" -j REJECT --reject-with icmp-port-unreachable
-A CSP-GUARD -m comment --comment "not a new connection" -j DROP
-I OUTPUT 1 -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-GUARD
-I FORWARD 1 -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-GUARD
COMMIT
*nat
:CSP-241.0.0.0/8 - [0:0]
:CSP-HAIRPIN - [0:0]
:CSP-MASQUERADE - [0:0]
-A CSP-MASQUERADE -m comment --comment hairpin -j CSP-HAIRPIN
-I POSTROUTING 1 -m conntrack --ctstate DNAT --ctorigdst 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-MASQUERADE
-I OUTPUT 1 -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-241.0.0.0/8
-I PREROUTING 1 -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-241.0.0.0/8
COMMIT
`,
    );
  });

  test("of one import adds its entry, its chain and nothing for its endpoint in the masquerade chain", () => {
    const stage = new Stage();
    stage.ruleset.set("demo/serve", [virtualService({ endpoints: [HERE] })]);
    const nat = stage.text().split("*nat\n")[1];
    assert.equal(
      nat,
      `:CSP-241.0.0.0/8 - [0:0]
:CSP-HAIRPIN - [0:0]
:CSP-MASQUERADE - [0:0]
:${CHAIN} - [0:0]
-A CSP-241.0.0.0/8 -d 241.0.0.10/32 -p tcp -m tcp --dport 80 -m comment --comment "demo/serve:http" -g ${CHAIN}
-A CSP-MASQUERADE -m comment --comment hairpin -j CSP-HAIRPIN
-A ${CHAIN} -p tcp -m comment --comment "demo/serve:http local c1" -j DNAT --to-destination 10.1.0.1:8080
-I POSTROUTING 1 -m conntrack --ctstate DNAT --ctorigdst 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-MASQUERADE
-I OUTPUT 1 -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-241.0.0.0/8
-I PREROUTING 1 -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-241.0.0.0/8
COMMIT
`,
    );
  });
});

describe("a change writes", () => {
  test("one chain when endpoints change", () => {
    const stage = new Stage();
    stage.ruleset.set("demo/serve", [virtualService()]);
    stage.text();
    const moved = { address: "10.2.0.1", port: 8080, cluster: "c2" };
    stage.ruleset.set("demo/serve", [virtualService({ tier: "regional", endpoints: [moved] })]);
    assert.equal(
      stage.text(),
      `*nat
:${CHAIN} - [0:0]
-A ${CHAIN} -p tcp -m comment --comment "demo/serve:http regional c2" -j DNAT --to-destination 10.2.0.1:8080
COMMIT
`,
    );
  });

  test("the entry, too, when the last endpoint is removed: it shows the reason, and the chain is deleted", () => {
    const stage = new Stage();
    stage.ruleset.set("demo/serve", [virtualService()]);
    stage.text();
    stage.ruleset.set("demo/serve", [virtualService({ reason: "no-endpoint", endpoints: [] })]);
    assert.equal(
      stage.text(),
      `*nat
:CSP-241.0.0.0/8 - [0:0]
:${CHAIN} - [0:0]
-A CSP-241.0.0.0/8 -d 241.0.0.10/32 -p tcp -m tcp --dport 80 -m comment --comment "demo/serve:http no-endpoint" -j RETURN
-X ${CHAIN}
COMMIT
`,
    );
  });
});

test("a VIP that passes from one import to another leads to the new one, in any order of the calls", () => {
  const young = virtualService({ importKey: "demo/young" });
  const old = virtualService({ importKey: "demo/old" });
  for (const order of ["young first", "old first"]) {
    const stage = new Stage();
    stage.ruleset.set("demo/young", [young]);
    stage.text();
    if (order === "young first") stage.ruleset.set("demo/young", []);
    stage.ruleset.set("demo/old", [old]);
    if (order === "old first") stage.ruleset.set("demo/young", []);
    const text = stage.text();
    assert.match(text, /-A CSP-241\.0\.0\.0\/8 -d 241\.0\.0\.10\/32 .*"demo\/old:http"/, order);
    assert.doesNotMatch(text, /demo\/young/, order);
  }
});

test("17 VIPs that share no more than the CIDR become 16, and the chain of the CIDR stays", () => {
  const stage = new Stage();
  for (let i = 0; i < 17; i++) {
    const service = virtualService({ importKey: `demo/s${i}`, vips: [`241.${i * 12}.0.1`] });
    stage.ruleset.set(`demo/s${i}`, [service]);
  }
  assert.match(stage.text(), /-A CSP-241\.0\.0\.0\/8 -d 241\.0\.0\.0\/12 -g CSP-241\.0\.0\.0\/12/);
  stage.ruleset.set("demo/s3", []);
  const text = stage.text();
  assert.doesNotMatch(text, /-X CSP-241\.0\.0\.0\/8$/m);
  assert.equal(text.match(/^-A CSP-241\.0\.0\.0\/8 .* --dport /gm)?.length, 16);
  assert.deepEqual(stage.chains("241."), ["nat CSP-241.0.0.0/8"]);
});

describe("explicit VIPs", () => {
  test("are guarded before they are dispatched, and removed in reverse order", () => {
    const stage = new Stage();
    stage.explicit(16);
    const [grow, shrink] = [stage.explicit(17), stage.explicit(16)];
    for (const text of [grow, shrink]) {
      const tables = text.match(/^\*.*$/gm);
      assert.deepEqual(tables, ["*filter", "*nat", "*filter"]);
      const [added = "", , removed = ""] = text.split(/^\*.*$/m).slice(1);
      assert.doesNotMatch(added, /^-[DX] /m);
      assert.doesNotMatch(removed, /^-[IA] /m);
    }
  });
});
