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

  test("nothing when nothing changes, or a change is reverted before it is taken", () => {
    const stage = new Stage();
    stage.ruleset.set("demo/serve", [virtualService()]);
    stage.text();
    assert.equal(stage.text(), "");
    stage.ruleset.set("demo/serve", []);
    stage.ruleset.set("demo/serve", [virtualService()]);
    assert.equal(stage.text(), "");
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
  test("have five jumps of their own each, up to sixteen of them", () => {
    const stage = new Stage();
    const text = stage.explicit(16);
    assert.equal(stage.jumpsTo("EXPLICIT"), 32);
    assert.equal(stage.jumpsTo("GUARD"), 2);
    assert.equal(stage.jumpsTo("GUARD-EXPLICIT"), 32);
    assert.equal(stage.jumpsTo("MASQUERADE"), 1 + 16);
    assert.match(text, /-I PREROUTING 1 -d 198\.51\.100\.9\/32 .* -j CSP-EXPLICIT\n/);
    assert.match(text, /-I POSTROUTING 1 .* --ctorigdst 198\.51\.100\.9 .* -j CSP-MASQUERADE\n/);
    assert.deepEqual(stage.chains("EXPLICIT"), ["nat CSP-EXPLICIT"]);
    assert.deepEqual(stage.chains("MASQ-"), []);
    assert.deepEqual(stage.chains("GUARD-"), ["filter CSP-GUARD-EXPLICIT"]);
  });

  test("beyond sixteen share three trees, with one jump without an address to each", () => {
    const stage = new Stage();
    stage.explicit(16);
    const text = stage.explicit(17);
    assert.equal(stage.jumpsTo("EXPLICIT"), 2);
    assert.equal(stage.jumpsTo("GUARD-EXPLICIT"), 2);
    assert.equal(stage.jumpsTo("MASQ-EXPLICIT"), 1);
    assert.equal(stage.jumpsTo("GUARD"), 2, "the ClusterSet CIDR's own");
    assert.match(
      text,
      /-I FORWARD 1 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -m comment --comment \S+ -j CSP-GUARD-EXPLICIT\n/,
    );
    assert.match(text, /-D FORWARD -d 198\.51\.100\.9\/32 .* -j CSP-GUARD-EXPLICIT\n/);
    assert.match(text, /-A CSP-G-\S+ -d 198\.51\.100\.9\/32 -p tcp .* -g CSP-GUARD\n/);
    assert.match(
      text,
      /-A CSP-M-\S+ -m conntrack --ctstate DNAT --ctorigdst 198\.51\.100\.9 -g CSP-MASQUERADE\n/,
    );
    assert.match(text, /-A CSP-X-\S+ -d 198\.51\.100\.9\/32 -p tcp .* -g CSP-SVC-/);
  });

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

  test("back at sixteen have jumps of their own again, and the trees are deleted", () => {
    const stage = new Stage();
    const before = [stage.explicit(16), new Map(stage.state.chains)] as const;
    stage.explicit(17);
    const text = stage.explicit(16);
    assert.deepEqual(stage.state.chains, before[1]);
    assert.equal(stage.jumpsTo("EXPLICIT"), 32);
    assert.match(text, /^-X CSP-MASQ-EXPLICIT$/m);
    assert.match(text, /^-D POSTROUTING -m conntrack --ctstate DNAT -m comment .*-EXPLICIT$/m);
  });

  test("leave nothing when the last one is removed", () => {
    const stage = new Stage();
    stage.explicit(3);
    const text = stage.explicit(0);
    assert.deepEqual(stage.chains("EXPLICIT"), []);
    assert.equal(stage.jumpsTo("EXPLICIT"), 0);
    assert.match(text, /^-D PREROUTING -d 198\.51\.100\.9\/32 .*\n(.*\n)*-X CSP-EXPLICIT$/m);
    assert.match(text, /^-X CSP-GUARD-EXPLICIT$/m);
  });
});

test("IPv6 VIPs inside and outside of the CIDR are dispatched separately", () => {
  const ruleset = newRuleset("IPv6");
  const vips = ["fd00:241::a", "2001:db8::1"];
  const endpoint = { address: "fd10::1", port: 8080, cluster: "c1" };
  ruleset.set("demo/serve", [virtualService({ family: "IPv6", vips, endpoints: [endpoint] })]);
  const text = finished(
    diff({ chains: new Map(), jumps: [] }, finished(ruleset.take())),
  ).toString();
  const lead = `-p tcp -m tcp --dport 80 -m comment --comment "demo/serve:http" -g ${CHAIN}`;
  for (const line of [
    `-A CSP-fd00.241../108 -d fd00:241::a/128 ${lead}`,
    `-A CSP-EXPLICIT -d 2001:db8::1/128 ${lead}`,
    `-A ${CHAIN} -p tcp -m comment --comment "demo/serve:http local c1" -j DNAT --to-destination [fd10::1]:8080`,
    "-I PREROUTING 1 -d fd00:241::/108 -m comment --comment clusterset-proxy -j CSP-fd00.241../108",
    "-I PREROUTING 1 -d 2001:db8::1/128 -m comment --comment clusterset-proxy -j CSP-EXPLICIT",
    "-I POSTROUTING 1 -m conntrack --ctstate DNAT --ctorigdst 2001:db8::1 -m comment --comment clusterset-proxy -j CSP-MASQUERADE",
  ]) {
    assert.ok(text.includes(`\n${line}\n`), line);
  }
});
