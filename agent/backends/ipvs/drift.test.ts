import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Family } from "../../../api/address.ts";
import { ipvsBackend, OPTIONS } from "../../../test/doubles/model-ipvs.ts";
import { virtualService } from "../../../test/generators/services.ts";
import type { VirtualService } from "../../plan/virtual-service.ts";
import { finished } from "../backend.ts";
import { type DesiredServices, KernelChange } from "../kernel-table.ts";
import { differences, type Held } from "../objects.ts";
import { kubeProxySuspect } from "./drift.ts";
import { isBound } from "./guard.ts";
import { type Content, IpvsLayout } from "./layout.ts";
import { BESIDE, GUARD, guardDigest, heldOf, MISSING, SETTINGS_ID, UNBOUND } from "./listing.ts";
import { marksOf, noSets } from "./nft-tables.ts";
import { type Port, type PortKey, parseVip, type Vip, vipText } from "./vip.ts";

const BACKEND = ipvsBackend(OPTIONS);
const LAYOUT = new IpvsLayout({ ...OPTIONS, scheduler: "rr" });
/** 241.0.0.10. */
const VIP = "f100000a";
const HTTP: PortKey = "TCP 80";
const TLS: PortKey = "TCP 443";
const WEB = virtualService();
const SECURE = virtualService({ portName: "https", port: 443 });

/** Makes the kernel hold what a ruleset takes now, and returns what was written. */
function write(held: Held, ruleset: DesiredServices<Content>): string {
  const tx = finished(BACKEND.diff(held, finished(ruleset.take())));
  tx.settle(held);
  return String(tx);
}

/** A kernel that a new agent with these services finds and writes to. */
function start(held: Held, services: readonly VirtualService[]) {
  const ruleset = BACKEND.ruleset();
  ruleset.set("demo/serve", services);
  return { held, ruleset, text: write(held, ruleset) };
}

/** A kernel with one service. */
const world = (): Held => start(new Map(), [WEB]).held;

/** Changes a VIP. */
function edit(held: Held, change: (vip: Vip) => Partial<Vip>, hex = VIP): void {
  const vip = parseVip(held.get(hex)?.digest);
  held.set(hex, { digest: vipText({ ...vip, ...change(vip) }) ?? "" });
}

/** Changes a port, or deletes it. */
function editPort(held: Held, change: (port: Port) => Port | undefined, key = HTTP): void {
  edit(held, ({ ports }) => {
    const changed = change(ports.get(key) ?? { owner: "ours" });
    const others = [...ports].filter(([one]) => one !== key);
    return { ports: new Map(changed === undefined ? others : [...others, [key, changed]]) };
  });
}

/** Sets a destination of the service's server, in the text of its digest: a weight, `.` if it is idle, `!` if it is not plain. */
function put(held: Held, key: string, weight: string): void {
  const { digest = "" } = held.get(VIP) ?? {};
  const others = digest.replace(new RegExp(`${key} [0-9.!]+,?`), "");
  held.set(VIP, { digest: others.replace(/(\|wrr [^|]*\|)/, `$1${key} ${weight},`) });
}

/** The drift after an external change. */
function told(harm: (found: Held) => void, before = world()): string[] {
  const found = new Map(before);
  harm(found);
  return BACKEND.compare(before, found).map(({ reason, what }) => `${reason} ${what}`);
}

describe("external changes of IPVS", () => {
  const SERVER = "server-changed TCP 241.0.0.10 80";
  const GUARDED = "guard-changed table ip csp-ipvs";
  const CASES: readonly (readonly [
    string,
    harm: (found: Held) => void,
    told: readonly string[],
  ])[] = [
    ["nothing", () => undefined, []],
    [
      "a deleted server",
      (found) => editPort(found, ({ served }) => ({ owner: "ours", served })),
      ["server-missing TCP 241.0.0.10 80"],
    ],
    [
      "a server with other terms",
      (found) =>
        editPort(found, ({ server, ...port }) => ({
          ...port,
          server: server && { ...server, terms: { scheduler: "lc", flags: 0x20, timeout: 0 } },
        })),
      [SERVER],
    ],
    [
      "a deleted VIP",
      (found) => edit(found, () => ({ isOnDevice: false })),
      ["vip-missing 241.0.0.10"],
    ],
    [
      "a deleted table",
      (found) => {
        found.set(GUARD, { digest: MISSING });
        editPort(found, (port) => ({ ...port, served: undefined }));
      },
      ["guard-missing table ip csp-ipvs"],
    ],
    [
      "a longer table",
      (found) => {
        const rules = [...marksOf(OPTIONS), ""];
        found.set(GUARD, { digest: guardDigest(OPTIONS, rules, false) });
      },
      [GUARDED],
    ],
    [
      "a deleted element of the guard",
      (found) => editPort(found, (port) => ({ ...port, served: undefined })),
      [GUARDED],
    ],
    [
      "an element of the guard too many",
      (found) => edit(found, () => ({ isExplicit: true })),
      [GUARDED],
    ],
    ["a weight taken away", (found) => put(found, "0a010001 8080", "0"), [SERVER]],
    ["another weight", (found) => put(found, "0a010001 8080", "7"), [SERVER]],
    ["other settings", (found) => put(found, "0a010001 8080", "1!"), [SERVER]],
    ["one that takes connections", (found) => put(found, "0a090909 80", "1"), [SERVER]],
    ["one that takes none", (found) => put(found, "0a090909 80", "0"), [SERVER]],
  ];
  for (const [what, harm, drift] of CASES) {
    test(`${what}: ${drift.join() || "no drift"}`, () => assert.deepEqual(told(harm), drift));
  }

  test("destinations that were not read count as unchanged", () => {
    const held = world();
    const { terms } = parseVip(held.get(VIP)?.digest).ports.get(HTTP)?.server ?? assert.fail();
    const name = { family: "IPv4", address: VIP, protocol: "TCP", port: 80 } as const;
    const sets = { ...noSets(), served: new Map([[`${VIP} TCP 80`, "demo/serve"]]) };
    const found = (destinations: readonly [] | undefined) =>
      heldOf(
        OPTIONS,
        {
          servers: new Map([[{ ...name, ...terms }, destinations]]),
          ...{ onDevice: new Set([VIP]), sets, guard: "bound", wrong: [] },
        },
        held,
      );
    assert.deepEqual(differences(held, found(undefined)), []);
    assert.deepEqual(BACKEND.compare(held, found([]))[0]?.reason, "server-changed");
  });

  test("a changed sysctl, by its name, and only once", () => {
    const wrong = (found: Held) => found.set(SETTINGS_ID, { digest: "net.ipv4.vs.conntrack" });
    assert.deepEqual(told(wrong), ["setting-changed net.ipv4.vs.conntrack"]);
    const before = world();
    wrong(before);
    assert.deepEqual(
      told(() => undefined, before),
      [],
    );
  });

  test("a draining destination that is deleted, or gets connections again", () => {
    const before = world();
    put(before, "0a090909 80", "0");
    const now = (weight: string | undefined) =>
      told((found) => {
        if (weight === undefined) found.set(VIP, { digest: world().get(VIP)?.digest ?? "" });
        else put(found, "0a090909 80", weight);
      }, before);
    assert.deepEqual(now(undefined), ["server-changed TCP 241.0.0.10 80"]);
    assert.deepEqual(now("0."), []);
    assert.deepEqual(now("1"), ["server-changed TCP 241.0.0.10 80"]);
  });

  test("with kube-proxy's device, a deleted server has kube-proxy as suspect, with the configuration that fixes it", () => {
    const before = world();
    const held = new Map(before);
    edit(held, () => ({ isOnDevice: false }));
    editPort(held, ({ served }) => ({ owner: "ours", served }));
    const suspect = kubeProxySuspect(OPTIONS.clusterSetCidrs);
    assert.match(suspect, /its ipvs\.excludeCIDRs must hold 241\.0\.0\.0\/8$/);
    assert.deepEqual(LAYOUT.drift([VIP], before, { held, suspect: () => suspect }), [
      { reason: "server-missing", what: "TCP 241.0.0.10 80", suspect },
      { reason: "vip-missing", what: "241.0.0.10" },
    ]);
  });
});

/** Another program's: it has no mark of ours. */
const FOREIGN: Port = {
  owner: "foreign",
  server: {
    terms: { scheduler: "lc", flags: 0, timeout: 0 },
    destinations: new Map([["c6120009 9", { weight: 1, isPlain: true, isIdle: false }]]),
  },
};

/** A kernel with these ports of other agents and programs. */
function having(ports: Readonly<Record<string, Port>>, hex = VIP): Held {
  const vip = { isOnDevice: false, isExplicit: false, isLeaving: false };
  const all = new Map(Object.entries(ports) as [PortKey, Port][]);
  return new Map([[hex, { digest: vipText({ ...vip, ports: all }) ?? "" }]]);
}

/** The port of a VIP, as it is held. */
function portIn(held: Held, key: PortKey, hex = VIP): Port | undefined {
  return parseVip(held.get(hex)?.digest).ports.get(key);
}

/** A new agent on a kernel with a foreign server in the place of the first service. */
const blocked = () => start(having({ [HTTP]: FOREIGN }), [WEB, SECURE]);

describe("a foreign server in the place of ours", () => {
  test("is not changed, the guard admits nothing to it, and the import's other port is served", () => {
    const { held, text } = blocked();
    assert.doesNotMatch(text, /-server TCP 241\.0\.0\.10 80 |-destination TCP 241\.0\.0\.10 80 /);
    assert.equal(portIn(held, TLS)?.served, "demo/serve");
    const { blocked: service, ...rest } = portIn(held, HTTP) ?? {};
    assert.equal(service, "demo/serve:http");
    assert.deepEqual(rest, { ...FOREIGN, served: undefined });
  });

  test("is reported with its settings and the command that removes it, in either family", () => {
    const { held } = blocked();
    assert.deepEqual(LAYOUT.conflicts(held), [
      {
        importKey: "demo/serve",
        servicePort: "demo/serve:http",
        protocol: "TCP",
        reason: "server-foreign",
        message:
          "demo/serve:http: another program's virtual server exists at TCP 241.0.0.10:80 (scheduler lc, to 198.18.0.9:9). If it is not needed: ipvsadm -D -t 241.0.0.10:80",
      },
    ]);
    const six = new IpvsLayout({ ...OPTIONS, family: "IPv6" satisfies Family, scheduler: "rr" });
    const taken = { ...FOREIGN, blocked: "demo/serve:s" };
    const [conflict] = six.conflicts(having({ "SCTP 7": taken }, `fd000241${"0".repeat(23)}1`));
    assert.match(conflict?.message ?? "", /ipvsadm -D --sctp-service \[fd00:241::1\]:7$/);
  });

  test("causes no transaction once it is reported, and neither does garbage", () => {
    const { held } = blocked();
    assert.equal(start(held, [WEB, SECURE]).text, "");
    const found = new Map(held);
    editPort(found, (port) => ({ ...port, blocked: undefined }));
    assert.equal(LAYOUT.garbage(held, found).deletes.size, 0);
  });

  test("is replaced by ours after its deletion is detected", () => {
    const { held } = blocked();
    assert.deepEqual(
      told((found) => editPort(found, () => undefined), held),
      ["server-freed TCP 241.0.0.10 80"],
    );
    editPort(held, () => undefined);
    assert.match(start(held, [WEB, SECURE]).text, /new-server TCP 241\.0\.0\.10 80 wrr/);
    assert.deepEqual(LAYOUT.conflicts(held), []);
  });

  test("is not reported for a service that is no longer desired", () => {
    const { held, ruleset } = blocked();
    ruleset.set("demo/serve", [SECURE]);
    write(held, ruleset);
    assert.deepEqual(LAYOUT.conflicts(held), []);
    assert.deepEqual(portIn(held, HTTP)?.server, FOREIGN.server);
  });

  test("may be at an explicit VIP that no device or rule of ours has; one with our mark there is used if desired, and else left alone", () => {
    const vip = "1.2.3.4";
    const unread = { terms: { scheduler: "lc", flags: 0, timeout: 0 }, destinations: new Map() };
    const marked = { terms: { ...unread.terms, flags: 32 }, destinations: new Map() };
    const far: Port = { owner: "far", server: marked };
    const before = having(
      { [HTTP]: { owner: "foreign", server: unread }, [TLS]: far, "TCP 99": far },
      "01020304",
    );
    const at = (service: VirtualService) => ({ ...service, vips: [vip] });
    const { held, text } = start(before, [at(WEB), at(SECURE)]);
    assert.match(text, /^set-server TCP 1\.2\.3\.4 443 /m);
    assert.doesNotMatch(text, /-server TCP 1\.2\.3\.4 (80|99)/);
    assert.equal(portIn(held, HTTP, "01020304")?.blocked, "demo/serve:http");
    assert.equal(portIn(held, TLS, "01020304")?.served, "demo/serve");
    assert.match(LAYOUT.conflicts(held)[0]?.message ?? "", /\(scheduler lc\)/);
    assert.deepEqual(
      told(() => undefined, held),
      [],
    );
  });

  test("that lost our mark is ours, as long as the guard admits connections to it", () => {
    const { held } = blocked();
    const { server } = portIn(held, TLS) ?? {};
    const terms = { scheduler: "wrr", flags: 0, timeout: 0 };
    editPort(held, (port) => ({ ...port, server: server && { ...server, terms } }), TLS);
    assert.match(start(held, [WEB, SECURE]).text, /set-server TCP 241\.0\.0\.10 443 wrr flags 32/);
  });
});

/** Rules that keep iptables' DNAT and kube-proxy's NodePorts from translating VIPs. */
const BOUND_RULE = /dnat to ip daddr/;

describe("a node with rules of another backend", () => {
  test("lets these translate VIPs until they are removed", () => {
    const beside = guardDigest(OPTIONS, [], true);
    const { held, text } = start(new Map([[GUARD, { digest: beside }]]), [WEB]);
    assert.doesNotMatch(text, BOUND_RULE);
    assert.equal(start(held, [WEB]).text, "");
    const rules = marksOf({ ...OPTIONS, unbound: true });
    assert.ok(!isBound(rules));
    assert.equal(held.get(GUARD)?.digest, guardDigest(OPTIONS, rules, true));
    assert.equal(held.get(GUARD)?.digest, `${UNBOUND}${BESIDE}`);
    const found = new Map(held).set(GUARD, { digest: guardDigest(OPTIONS, rules, false) });
    assert.deepEqual(BACKEND.compare(held, found), [], "no drift");
    const change = LAYOUT.garbage(held, found);
    const tx = new KernelChange(change, LAYOUT.commands(change, held));
    assert.match(String(tx), BOUND_RULE);
    // What is served stays served: the table is written as a whole.
    assert.match(String(tx), /add element ip csp-ipvs served \{ 241\.0\.0\.10 \. tcp \. 80/);
    assert.doesNotMatch(String(tx), /delete element/);
    tx.settle(held);
    assert.equal(start(held, [WEB]).text, "");
  });
});
