import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { toolsOf } from "../../agent/backends/iptables/flavour.ts";
import { IptablesBackend } from "../../agent/backends/iptables/iptables.ts";
import { FAMILIES, type Family } from "../../api/address.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { modelOf, planOf } from "../packets/rendered.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../support/agent-process.ts";
import { importObject, sliceObject } from "../support/objects.ts";
import { cidr, nodeFact } from "../support/worlds.ts";

const SPEC = { clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }] };
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const slice = (name: string, address: string) =>
  sliceObject(name, "shop/web", { cluster: "c1" }, [{ ...HTTP, port: 8080 }], [address]);
const OBJECTS = [
  importObject("shop/web", ["241.0.1.7", "198.51.100.7", "fd00:241::7"], [HTTP]),
  slice("web-4", "10.1.0.11"),
  slice("web-6", "fd00:10:1::11"),
];

/** What one family's chains and ranges are called. */
const NAMES = {
  IPv4: {
    root: "CSP-241.0.0.0/8",
    range: "241.0.0.0/8",
    inside: "241.0.0.0/9",
    other: "10.96.0.10/32",
  },
  IPv6: {
    root: "CSP-fd00.241../108",
    range: "fd00:241::/108",
    inside: "fd00:241::/109",
    other: "fd00:96::a/128",
  },
} as const;

/** A node with rules of ours, written to by the test process itself: every look happens when it is asked for. */
class Site {
  readonly node: Namespace;
  readonly family: Family;
  readonly #flavour: "nft" | "legacy";
  readonly backend: IptablesBackend;
  #believed;

  constructor(node: Namespace, flavour: "nft" | "legacy", family: Family) {
    const clusterSetCidr = nodeFact().clusterSetCidrs.find((one) => one.family === family);
    assert.ok(clusterSetCidr);
    this.node = node;
    this.family = family;
    this.#flavour = flavour;
    this.backend = new IptablesBackend({
      family,
      clusterSetCidr,
      masquerade: { mode: "none", podCidrs: [] },
      flavour,
      within: node.within,
      onRespawn: () => assert.fail("iptables-restore refused a repair"),
    });
    this.#believed = this.backend.nothing();
  }

  /** What a look finds, as `reason what` in short. */
  async look(): Promise<string[]> {
    const drift = await this.backend.check(this.#believed);
    const { root } = NAMES[this.family];
    return drift
      .map(({ reason, what }) => {
        const [table, chain, ...rest] = what.replace(root, "CSP-ROOT").split(" ");
        const target = rest.at(-1)?.replace(root, "CSP-ROOT");
        return [reason, table, chain, target].filter((word) => word !== undefined).join(" ");
      })
      .sort();
  }

  /** Reads, compares and writes; gives what was written. */
  async repair(): Promise<string> {
    const node = nodeFact({ explicitVipCidrs: [cidr("198.51.100.0/24")] });
    const ruleset = this.backend.ruleset();
    for (const [key, services] of planOf(modelOf(OBJECTS, node), node)) {
      ruleset.set(
        key,
        services.filter(({ family }) => family === this.family),
      );
    }
    this.#believed = await this.backend.read();
    const tx = this.backend.diff(this.#believed, ruleset.take());
    if (!tx.empty) await this.backend.apply(tx, this.#believed);
    return tx.toString();
  }

  /** What somebody else does, as restore text; `RANGE`, `INSIDE`, `OTHER` and `ROOT` are the family's own. */
  async foreign(text: string): Promise<void> {
    const { root, range, inside, other } = NAMES[this.family];
    const input = text
      .replaceAll("RANGE", range)
      .replaceAll("INSIDE", inside)
      .replaceAll("OTHER", other)
      .replaceAll("ROOT", root);
    const { restore } = toolsOf(this.#flavour, this.family);
    await this.node.exec([...restore, "--noflush"], { stdin: `${input}\nCOMMIT\n` });
  }

  /** A jump of ours, as it stands now. */
  async jump(table: string, chain: string): Promise<string> {
    const { save } = toolsOf(this.#flavour, this.family);
    const listing = await this.node.exec([...save, "-t", table]);
    const line = listing
      .split("\n")
      .find(
        (one) =>
          one.startsWith(`-A ${chain} `) &&
          / -j CSP-(GUARD|[2f].*)$/.test(one) &&
          one.includes(NAMES[this.family].range),
      );
    assert.ok(line);
    return line.slice(3);
  }
}

for (const flavour of ["nft", "legacy"] as const) {
  for (const family of FAMILIES) {
    describe(`what others do to the rules of a node, ${flavour} flavour, ${family}`, () => {
      let lab: Lab;
      let site: Site;
      before(async () => {
        lab = await Lab.create(SPEC);
        site = new Site(lab.node("c1", "n1"), flavour, family);
        await site.repair();
        assert.deepEqual(await site.look(), []);
      });
      after(async () => {
        await site.backend.close();
        await lab.remove();
      });

      /** Found, mended by one transaction, and then nothing is left to find or to mend. */
      async function repaired(expected: readonly string[]): Promise<void> {
        assert.deepEqual(await site.look(), [...expected].sort());
        assert.notEqual(await site.repair(), "");
        assert.deepEqual(await site.look(), []);
        assert.equal(await site.repair(), "");
      }

      test("a table that was flushed", async () => {
        await site.foreign("*nat\n-F");
        const found = await site.look();
        assert.ok(found.includes("jump-missing nat PREROUTING CSP-ROOT"), found.join("\n"));
        assert.ok(found.includes("chain-changed nat CSP-ROOT"), found.join("\n"));
        await repaired(found);
        await site.foreign("*filter\n-F");
        const filter = await site.look();
        assert.ok(filter.includes("jump-missing filter FORWARD CSP-GUARD"), filter.join("\n"));
        assert.ok(filter.includes("chain-changed filter CSP-GUARD"), filter.join("\n"));
        await repaired(filter);
      });

      test("tables that were flushed, and all chains of ours deleted", async () => {
        await site.foreign("*filter\n-F\n-X\nCOMMIT\n*nat\n-F\n-X");
        const found = await site.look();
        assert.ok(found.includes("chain-missing nat CSP-ROOT"), found.join("\n"));
        assert.ok(found.includes("chain-missing filter CSP-GUARD"), found.join("\n"));
        await repaired(found);
      });

      test("a jump that was deleted, and one that was doubled", async () => {
        await site.foreign(`*nat\n-D ${await site.jump("nat", "OUTPUT")}`);
        await repaired(["jump-missing nat OUTPUT CSP-ROOT"]);
        await site.foreign(`*filter\n-A ${await site.jump("filter", "FORWARD")}`);
        await repaired(["jump-extra filter FORWARD CSP-GUARD"]);
      });

      test("a chain of ours with a rule too many, and one with other rules", async () => {
        await site.foreign("*filter\n-I CSP-GUARD 1 -j ACCEPT");
        await repaired(["chain-changed filter CSP-GUARD"]);
        await site.foreign("*nat\n:CSP-MASQUERADE - [0:0]\n-A CSP-MASQUERADE -j MASQUERADE");
        await repaired(["chain-changed nat CSP-MASQUERADE"]);
      });

      test("a rule before a jump that takes its packets", async () => {
        await site.foreign("*filter\n-I OUTPUT 1 -p tcp -j ACCEPT");
        const guard = (await site.look()).filter((one) => one.includes("CSP-GUARD"));
        assert.ok(guard.includes("jump-behind filter OUTPUT CSP-GUARD"));
        await repaired(await site.look());
        await site.foreign("*filter\n-I FORWARD 1 -d INSIDE -j DROP");
        await repaired(["jump-behind filter FORWARD CSP-GUARD"]);
        await site.foreign("*nat\n-I PREROUTING 1 -s OTHER -d RANGE -j RETURN");
        await repaired(["jump-behind nat PREROUTING CSP-ROOT"]);
        await site.foreign(
          "*nat\n:OTHERS - [0:0]\n-A OTHERS -d INSIDE -p udp -m udp --dport 53 -j ACCEPT\n-I OUTPUT 1 -j OTHERS",
        );
        await repaired(["jump-behind nat OUTPUT CSP-ROOT"]);
      });

      test("rules at the head of kube-proxy's kind are left alone, and so are ours behind them", async () => {
        await site.foreign(`*nat
:KUBE-SERVICES - [0:0]
:KUBE-NODEPORTS - [0:0]
:KUBE-SVC-A - [0:0]
:KUBE-POSTROUTING - [0:0]
-A KUBE-SVC-A -j RETURN
-A KUBE-NODEPORTS -p tcp -m comment --comment "shop/web:http" -m tcp --dport 30080 -j KUBE-SVC-A
-A KUBE-SERVICES -d OTHER -p udp -m comment --comment "kube-system/kube-dns:dns cluster IP" -m udp --dport 53 -j KUBE-SVC-A
-A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
-A KUBE-POSTROUTING -m mark ! --mark 0x4000/0x4000 -j RETURN
-A KUBE-POSTROUTING -j MARK --set-xmark 0x4000/0x0
-A KUBE-POSTROUTING -j MASQUERADE --random-fully
-I PREROUTING 1 -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-I OUTPUT 1 -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-I POSTROUTING 1 -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
COMMIT
*filter
:KUBE-FORWARD - [0:0]
-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP
-A KUBE-FORWARD -m comment --comment "kubernetes forwarding rules" -m mark --mark 0x4000/0x4000 -j ACCEPT
-A KUBE-FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-I FORWARD 1 -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD`);
        assert.deepEqual(await site.look(), []);
        assert.equal(await site.repair(), "", "a restart leaves them alone as well");
        await site.foreign(
          "*nat\n-A KUBE-SERVICES -d INSIDE -p tcp -m tcp --dport 80 -j KUBE-SVC-A\n-A KUBE-SVC-A -j ACCEPT",
        );
        assert.equal(await site.repair(), "", "a RETURN comes first");
        await site.foreign("*nat\n-I KUBE-SVC-A 1 -j ACCEPT");
        const moved = await site.repair();
        assert.match(moved, /^-D PREROUTING /m);
        assert.match(moved, /^-I PREROUTING 1 /m);
        assert.deepEqual(await site.look(), []);
      });
    });
  }
}

test("a table with rules that iptables cannot express is named, and left as it is", async () => {
  await using lab = await Lab.create(SPEC);
  const node = lab.node("c1", "n1");
  const site = new Site(node, "nft", "IPv4");
  await site.repair();
  const foreign = (chain: string, family = "ip") =>
    node.exec([
      "nft",
      "add",
      "rule",
      family,
      "filter",
      chain,
      "ct",
      "state",
      "established",
      "accept",
    ]);
  await node.exec(["iptables-nft", "-I", "INPUT", "-p", "icmp", "-j", "ACCEPT"]);
  await foreign("INPUT");
  const before = await node.exec(["nft", "list", "ruleset"]);
  await assert.rejects(site.repair(), {
    code: "CSP_TABLE_UNREADABLE",
    message: /table filter holds .* nft list chain ip filter INPUT$/,
  });
  assert.deepEqual(await site.look(), [], "what can be looked at is");
  await foreign("FORWARD");
  await assert.rejects(site.look(), { code: "CSP_TABLE_UNREADABLE", message: /FORWARD/ });
  await node.exec(["nft", "flush", "chain", "ip", "filter", "FORWARD"]);
  await assert.rejects(site.repair(), { code: "CSP_TABLE_UNREADABLE" });
  await node.exec(["nft", "flush", "chain", "ip", "filter", "INPUT"]);
  assert.match(await site.repair(), /-I FORWARD 1 /, "once it can be read, it is mended");
  assert.match(before, /ct state established/);
  await site.backend.close();
});

for (const flavour of ["nft", "legacy"] as const) {
  test(`the agent puts back what was flushed, and says whose rules it found there, ${flavour} flavour`, async () => {
    await using lab = await Lab.create(SPEC);
    const node = lab.node("c1", "n1");
    const manifests = new ManifestDirectory(lab, "manifests");
    manifests.write("web", ...OBJECTS);
    const flags = ["--cluster-id", "c1", "--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
    const agent = new AgentProcess(node, manifests.path, [...flags, "--iptables-flavour", flavour]);
    await agent.start();
    const rules = async () => {
      const tools = FAMILIES.map((family) => toolsOf(flavour, family).save);
      const listings = await Promise.all(tools.map((save) => node.exec([...save])));
      return listings
        .join("")
        .match(/^(:CSP-\S+|-A .*CSP-.*)$/gm)
        ?.sort();
    };
    const settled = await rules();
    const flush =
      "*nat\n-F\n-X\n:DOCKER - [0:0]\n-I OUTPUT 1 -p udp -j DOCKER\nCOMMIT\n*filter\n-F\n-X\nCOMMIT\n";
    await node.exec([...toolsOf(flavour, "IPv4").restore, "--noflush"], { stdin: flush });
    await node.exec([`ip6tables-${flavour}`, "-w", "-I", "FORWARD", "-j", "ACCEPT"]);
    await eventually(async () => assert.deepEqual(await rules(), settled));
    await eventually(async () => assert.match(agent.log, /"family":"IPv6","reason":"jump-behind"/));
    assert.match(agent.log, /"family":"IPv4","reason":"(jump|chain)-missing".*"suspect":"Docker"/);
    assert.ok((await agent.metric("clusterset_agent_drift_repairs_total")) > 5);
    await agent.stop();
  });
}

test("the legacy lock, held by another program, is waited for", async () => {
  await using lab = await Lab.create(SPEC);
  const node = lab.node("c1", "n1");
  const manifests = new ManifestDirectory(lab, "manifests");
  manifests.write("web", ...OBJECTS);
  const agent = new AgentProcess(node, manifests.path, [
    ...["--cluster-id", "c1", "--iptables-flavour", "legacy"],
  ]);
  await agent.start();
  const script = 'exec 9>"$XTABLES_LOCKFILE"; flock 9; echo held; exec sleep 60';
  const holder = node.spawn(["sh", "-c", script]);
  await holder.line(/held/);
  manifests.write("web", ...OBJECTS, slice("web-more", "10.1.0.12"));
  // It can be told, and waits on: nothing has been taken away from those that are served.
  await eventually(() => assert.match(agent.log, /CSP_LOCK_HELD/));
  assert.match(await node.exec(["iptables-legacy-save"]), /--to-destination 10\.1\.0\.11:8080/);
  await holder.stop();
  await eventually(async () =>
    assert.match(await node.exec(["iptables-legacy-save"]), /--to-destination 10\.1\.0\.12:8080/),
  );
  assert.doesNotMatch(agent.log, /refused-by-kernel/);
  await agent.stop();
});
