import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { ObjectKey } from "../../../api/names.ts";
import { pureTable } from "../../../test/doubles/pure-table.ts";
import { cidr } from "../../../test/generators/facts.ts";
import { forAll } from "../../../test/generators/for-all.ts";
import { virtualService } from "../../../test/generators/services.ts";
import type { PlannedEndpoint, VirtualService } from "../../plan/virtual-service.ts";
import { finished } from "../backend.ts";
import type { DesiredServices } from "../kernel-table.ts";
import type { Held } from "../objects.ts";
import { Buckets } from "./buckets.ts";
import { IptablesLayout } from "./layout.ts";
import type { Rules } from "./rules.ts";

const CHAIN = "CSP-SVC-ZXRW4YYXZOJNWMBM";
const HERE: PlannedEndpoint = { address: "10.1.0.1", port: 8080, cluster: "c1" };

const backend = (...explicitVipCidrs: readonly string[]) =>
  pureTable(
    new IptablesLayout({
      ...{ family: "IPv4", clusterSetCidrs: [cidr("241.0.0.0/8")] },
      explicitVipCidrs: explicitVipCidrs.map(cidr),
      masquerade: { mode: "none", podCidrs: [] },
    }),
  );
const BACKEND = backend();

function diff(held: Held, ruleset: DesiredServices<Rules>) {
  return finished(BACKEND.diff(held, finished(ruleset.take())));
}

/** A ruleset and the kernel that follows it. */
class Stage {
  readonly ruleset: DesiredServices<Rules>;
  readonly held: Held = new Map();

  constructor(...explicitVipCidrs: readonly string[]) {
    this.ruleset = backend(...explicitVipCidrs).ruleset();
  }

  /** The present transaction, without the rules that compare source and destination. */
  text(): string {
    const tx = diff(this.held, this.ruleset);
    tx.settle(this.held);
    return tx.toString().replace(/^-A CSP-HAIRPIN .*\n/gm, "");
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
:CSP-HAIRPIN - [0:0]
:CSP-MASQUERADE - [0:0]
:CSP-SERVICES - [0:0]
-A CSP-MASQUERADE -m comment --comment hairpin -j CSP-HAIRPIN
-I POSTROUTING 1 -m conntrack --ctstate DNAT --ctorigdst 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-MASQUERADE
-I OUTPUT 1 -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES
-I PREROUTING 1 -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES
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
      `:CSP-HAIRPIN - [0:0]
:CSP-MASQUERADE - [0:0]
:CSP-SERVICES - [0:0]
:CSP-SERVICES-0a - [0:0]
:CSP-SERVICES-a - [0:0]
:${CHAIN} - [0:0]
-A CSP-MASQUERADE -m comment --comment hairpin -j CSP-HAIRPIN
-A CSP-SERVICES -d 0.0.0.10/0.0.0.15 -g CSP-SERVICES-a
-A CSP-SERVICES-0a -d 241.0.0.10/32 -p tcp -m tcp --dport 80 -m comment --comment "demo/serve:http" -g ${CHAIN}
-A CSP-SERVICES-a -d 0.0.0.10/0.0.0.255 -g CSP-SERVICES-0a
-A ${CHAIN} -p tcp -m comment --comment "demo/serve:http local c1" -j DNAT --to-destination 10.1.0.1:8080
-I POSTROUTING 1 -m conntrack --ctstate DNAT --ctorigdst 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-MASQUERADE
-I OUTPUT 1 -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES
-I PREROUTING 1 -d 241.0.0.0/8 -m comment --comment clusterset-proxy -j CSP-SERVICES
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
:CSP-SERVICES-0a - [0:0]
:${CHAIN} - [0:0]
-A CSP-SERVICES-0a -d 241.0.0.10/32 -p tcp -m tcp --dport 80 -m comment --comment "demo/serve:http no-endpoint" -j RETURN
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
    assert.match(text, /-A CSP-SERVICES-0a -d 241\.0\.0\.10\/32 .*"demo\/old:http"/, order);
    assert.doesNotMatch(text, /demo\/young/, order);
  }
});

test("a VIP that has passed to another import goes with that one", () => {
  const stage = new Stage();
  for (const importKey of ["demo/young", "demo/old"] as const)
    stage.ruleset.set(importKey, [virtualService({ importKey })]);
  stage.text();
  stage.ruleset.set("demo/old", []);
  const text = stage.text();
  assert.match(text, /^-X CSP-SVC-/m);
  assert.match(text, /^-X CSP-SERVICES-0a$/m, "no rule leads to the deleted chain");
  assert.doesNotMatch(text, / -g CSP-SVC-/);
});

test("an explicit VIP is guarded before it is dispatched, and removed in reverse order; the jumps are to its range, and stay", () => {
  const stage = new Stage("198.51.100.0/24", "0.0.0.0/0");
  const lines = stage.text().split("\n");
  const jumps = lines.filter((line) => /^-I (?!OUTPUT).*(EXPLICIT|SERVICES)/.test(line));
  assert.deepEqual(
    jumps.map((line) => line.replace(/ -m comment --comment \S+/, "")),
    [
      "-I FORWARD 1 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j CSP-GUARD-EXPLICIT",
      "-I FORWARD 1 -d 198.51.100.0/24 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j CSP-GUARD-EXPLICIT",
      "-I PREROUTING 1 -d 241.0.0.0/8 -j CSP-SERVICES",
      "-I POSTROUTING 1 -m conntrack --ctstate DNAT --ctorigdst 0.0.0.0/0 -j CSP-MASQ-EXPLICIT",
      "-I PREROUTING 1 -j CSP-SERVICES",
      "-I POSTROUTING 1 -m conntrack --ctstate DNAT --ctorigdst 198.51.100.0/24 -j CSP-MASQ-EXPLICIT",
      "-I PREROUTING 1 -d 198.51.100.0/24 -j CSP-SERVICES",
    ],
  );
  stage.ruleset.set("demo/serve", [virtualService({ vips: ["198.51.100.137"], endpoints: [] })]);
  const rule = '198.51.100.137/32 -p tcp -m tcp --dport 80 -m comment --comment "demo/serve:http';
  const added = stage.text();
  assert.match(added, /^\*filter\n(.*\n)*COMMIT\n\*nat\n/);
  for (const line of [
    "-A CSP-GUARD-EXPLICIT-9 -d 0.0.0.137/0.0.0.255 -g CSP-GUARD-EXPLICIT-89",
    `-A CSP-GUARD-EXPLICIT-89 -d ${rule} nearest-ready" -g CSP-GUARD`,
    "-A CSP-MASQ-EXPLICIT -m conntrack --ctstate DNAT --ctorigdst 198.51.100.137 -g CSP-MASQUERADE",
    `-A CSP-SERVICES-89 -d ${rule} nearest-ready" -j RETURN`,
  ])
    assert.ok(added.includes(`\n${line}\n`), line);
  stage.ruleset.set("demo/serve", []);
  const parts = stage.text().split(/^\*(?:filter|nat)$/m);
  assert.deepEqual(
    [parts.length, ...parts.map((part) => /^-X/m.test(part))],
    [4, false, false, true, true],
  );
});

/** Some share chains. */
const vip = fc.stringMatching(/^f10[0-3]00[01][0-2]$/);

test("a VIP's rules are at the end of one path of chains, each chain has a VIP, and the order of changes leaves no trace", () =>
  forAll([fc.array(vip, { maxLength: 80 })], (toggles) => {
    const empty = () => new Buckets("nat CSP-SERVICES");
    const take = (from: Buckets, to: Map<string, readonly string[]>) => {
      for (const [id, rules] of from.take())
        if (rules === undefined) to.delete(id);
        else to.set(id, rules);
      return to;
    };
    const [present, buckets] = [new Set<string>(), empty()];
    const chains = take(buckets, new Map());
    for (const one of toggles) {
      const isGone = present.delete(one);
      if (!isGone) present.add(one);
      buckets.set(one, isGone ? undefined : [one]);
      const fresh = empty();
      for (const other of [...present].reverse()) fresh.set(other, [other]);
      assert.deepEqual(take(buckets, chains), take(fresh, new Map()));
    }
    const leaves = [...present].map((one) => one.slice(-2));
    const digits = new Set([...leaves, ...leaves.map((leaf) => leaf.slice(-1))]);
    assert.equal(chains.size, 1 + digits.size);
    for (const one of present) {
      const [leaf, mid] = [one.slice(-2), one.slice(-1)];
      const name = "CSP-SERVICES";
      for (const rule of [
        `${name} -d 0.0.0.${Number(`0x${mid}`)}/0.0.0.15 -g ${name}-${mid}`,
        `${name}-${mid} -d 0.0.0.${Number(`0x${leaf}`)}/0.0.0.255 -g ${name}-${leaf}`,
        `${name}-${leaf} ${one}`,
      ])
        assert.equal([...chains.values()].flat().filter((text) => text === `-A ${rule}`).length, 1);
    }
  }));

test("where many VIPs end alike, a chain has 64 at most, and one again once they are gone", () => {
  const vips = Array.from({ length: 200 }, (_, i) => `f1${(4_096 + 37 * i).toString(16)}89`);
  const buckets = new Buckets("nat CSP-SERVICES");
  const of = (all: readonly string[], gone: readonly string[] = []) => {
    for (const one of all) buckets.set(one, [one]);
    for (const one of gone) buckets.set(one, undefined);
    return [...buckets.take()];
  };
  const chains = of(vips).map(([, own = []]) => own);
  assert.ok(chains.every((own) => own.length <= 64));
  const rules = chains.flat();
  for (const one of vips) assert.ok(rules.some((rule) => rule.endsWith(` ${one}`)));
  assert.ok(rules.includes("-A CSP-SERVICES-89 -d 0.0.4.137/0.0.15.255 -g CSP-SERVICES-489"));
  const after = of([], vips.slice(64));
  assert.deepEqual(
    after.map(([id, own]) => [id, own?.length]),
    [["nat CSP-SERVICES-89", 64], ...after.slice(1).map(([id]) => [id, undefined])],
  );
});

const SERVICES = 400;

/** Two ports with twenty endpoints each: 400 of them have more rules than are kept. */
function large(i: number): readonly [ObjectKey, VirtualService[]] {
  const importKey: ObjectKey = `demo/s${i}`;
  const endpoints = Array.from({ length: 20 }, (_, k) => ({
    address: `10.${i >> 8}.${i & 255}.${k}`,
    port: 8080,
  }));
  const vips = [`241.0.${i >> 8}.${i & 255}`];
  return [
    importKey,
    [80, 81].map((port) =>
      virtualService({ importKey, vips, endpoints, port, portName: `p${port}` }),
    ),
  ];
}

describe("a ruleset that is larger than what is kept in memory", () => {
  /** `made` counts how often services are requested again. */
  function rulesets() {
    const [kept, unmade] = [BACKEND.ruleset(), BACKEND.ruleset()];
    let made = 0;
    for (let i = 0; i < SERVICES; i++) {
      const [key, services] = large(i);
      kept.set(key, services);
      const again = () => {
        made++;
        return services;
      };
      unmade.set(key, services, { again });
    }
    return { kept, unmade, made: () => made };
  }

  test("is written as if all of it had been kept: once for all ports of an import, in order, in pieces of moderate size", () => {
    const { kept, unmade, made } = rulesets();
    const expected = diff(new Map(), kept);
    const tx = diff(new Map(), unmade);
    assert.equal(made(), 0, "only when it is written");
    const pieces = [...tx.commands.pieces()];
    assert.ok(made() > 0 && made() <= SERVICES, `${made()}`);
    assert.ok(pieces.every(({ length }) => length < 70_000));
    const text = pieces.join("");
    assert.ok(text.length > 1_000_000);
    const sorted = (text: string) => text.split("\n").sort();
    assert.deepEqual(sorted(text), sorted(expected.toString()));
    const [, ...names] = text.match(/^:CSP-\S+/gm) ?? [];
    assert.deepEqual(names, [...names].sort());
    const [mine, theirs]: [Held, Held] = [new Map(), new Map()];
    tx.settle(mine);
    expected.settle(theirs);
    assert.deepEqual(mine, theirs);
  });

  test("is not rendered again if the kernel has it", () => {
    const { kept, unmade, made } = rulesets();
    const state = new Map();
    diff(state, kept).settle(state);
    assert.ok(diff(state, unmade).empty);
    assert.equal(made(), 0);
  });
});

describe("a service whose rules are kept", () => {
  const [key, both] = large(1);
  const [one, other] = both;
  assert.ok(one && other);
  const gone: VirtualService = { ...other, endpoints: [], reason: "no-endpoint" };

  function live(): Held {
    const state = new Map();
    const ruleset = BACKEND.ruleset();
    ruleset.set(key, both);
    diff(state, ruleset).settle(state);
    return state;
  }

  test("keeps its chain and its entry, in a complete pass too", () => {
    const ruleset = BACKEND.ruleset();
    ruleset.set(key, [one], { kept: [gone] });
    assert.equal(diff(live(), ruleset).toString(), "");
  });

  test("keeps them while its neighbours change, and is written afterwards", () => {
    const state = live();
    const ruleset = BACKEND.ruleset();
    ruleset.set(key, both);
    diff(state, ruleset);
    ruleset.set(key, [{ ...one, endpoints: one.endpoints.slice(1) }], { kept: [gone] });
    ruleset.set(...large(2));
    const text = diff(state, ruleset).toString();
    assert.doesNotMatch(text, /^-X|s1:p81.* (RETURN|DNAT)/m);
    assert.match(text, /s1:p80.*10\.0\.1\.1:8080/);
    ruleset.set(key, [one, gone]);
    assert.match(diff(state, ruleset).toString(), /s1:p81 no-endpoint" -j RETURN/);
  });

  test("is deleted with its import", () => {
    const ruleset = BACKEND.ruleset();
    ruleset.set(key, [one], { kept: [other] });
    finished(ruleset.take());
    ruleset.set(key, []);
    assert.match(diff(live(), ruleset).toString(), /(^-X CSP-SVC-.*\n){2}/m);
  });
});
