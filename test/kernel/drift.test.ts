import assert from "node:assert/strict";
import { test } from "node:test";
import { FLAVOURS, type Flavour, toolsOf } from "../../agent/backends/iptables/flavour.ts";
import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import { iptables } from "../backends/iptables.ts";
import { Programmer } from "../backends/programmer.ts";
import { nodeFact } from "../generators/facts.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { modelOf, planOf } from "../packets/rendered.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";

const SPEC = { clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }] };
const HTTP = { name: "http", port: 80, protocol: "TCP" };
const slice = (name: string, address: string) =>
  sliceObject(name, "shop/web", { cluster: "c1" }, [{ ...HTTP, port: 8080 }], [address]);
const OBJECTS = [
  importObject("shop/web", ["241.0.1.7", "fd00:241::7"], [HTTP]),
  slice("web-4", "10.1.0.11"),
  slice("web-6", "fd00:10:1::11"),
];
const NODE = nodeFact();

/** kube-proxy's rules, with its ClusterIP as `OTHER`. */
const KUBE_PROXY = `*nat
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
-I FORWARD 1 -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD`;

/** The iptables backend of one family on a node, without an agent. */
class Site {
  readonly node: Namespace;
  readonly #programmer: Programmer;
  readonly #flavour: Flavour;
  readonly #range: Cidr;

  constructor(node: Namespace, programmer: Programmer, flavour: Flavour, range: Cidr) {
    this.node = node;
    this.#programmer = programmer;
    this.#flavour = flavour;
    this.#range = range;
  }

  get #family(): Family {
    return this.#range.family;
  }

  /** The drift that a check finds. */
  check(): Promise<string[]> {
    return this.#programmer.check(this.#family);
  }

  /** Reads, compares and writes; returns what was written. */
  async repair(): Promise<string> {
    const services = [...planOf(modelOf(OBJECTS, NODE), NODE)].map(
      ([key, all]) => [key, all.filter(({ family }) => family === this.#family)] as const,
    );
    const held = await this.#programmer.hold({
      family: this.#range.family,
      clusterSetCidrs: [this.#range],
      config: {},
      services,
      afresh: true,
    });
    return held.done;
  }

  /** Restores foreign rules, in which `OTHER` is a ClusterIP and `INSIDE` a part of the ClusterSet CIDR. */
  async foreign(text: string): Promise<void> {
    const isFour = this.#family === "IPv4";
    const input = text
      .replaceAll("INSIDE", isFour ? "241.0.0.0/9" : "fd00:241::/109")
      .replaceAll("OTHER", isFour ? "10.96.0.10/32" : "fd00:96::a/128");
    const { restore } = toolsOf(this.#flavour, this.#family);
    await this.node.exec([...restore, "--noflush"], { stdin: `${input}\nCOMMIT\n` });
  }
}

async function siteOf(lab: Lab, flavour: Flavour, range: Cidr): Promise<Site> {
  const node = lab.node("c1", "n1");
  const site = new Site(node, await Programmer.start(lab, node, iptables(flavour)), flavour, range);
  await site.repair();
  return site;
}

for (const flavour of FLAVOURS) {
  for (const range of NODE.clusterSetCidrs) {
    test(`rules of ours behind kube-proxy's are not moved until those take our packets, ${flavour} flavour, ${range.family}`, async () => {
      await using lab = await Lab.create(SPEC);
      const site = await siteOf(lab, flavour, range);
      await site.foreign(KUBE_PROXY);
      assert.deepEqual(await site.check(), []);
      assert.equal(await site.repair(), "", "a restart does not move them either");
      await site.foreign(
        "*nat\n-A KUBE-SERVICES -d INSIDE -p tcp -m tcp --dport 80 -j KUBE-SVC-A\n-A KUBE-SVC-A -j ACCEPT",
      );
      assert.equal(await site.repair(), "", "a RETURN comes first");
      await site.foreign("*nat\n-I KUBE-SVC-A 1 -j ACCEPT");
      const moved = await site.repair();
      assert.match(moved, /^-D PREROUTING /m);
      assert.match(moved, /^-I PREROUTING 1 /m);
      assert.deepEqual(await site.check(), []);
    });
  }
}

test("a table with rules that iptables cannot list is named, and not changed", async () => {
  await using lab = await Lab.create(SPEC);
  const [range] = NODE.clusterSetCidrs;
  assert.ok(range);
  const site = await siteOf(lab, "nft", range);
  const { node } = site;
  const foreign = (chain: string) =>
    node.exec([
      "nft",
      "add",
      "rule",
      "ip",
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
  assert.match(before, /ct state established/);
  await assert.rejects(site.repair(), {
    code: "CSP_TABLE_UNREADABLE",
    message: /table filter holds .* nft list chain ip filter INPUT$/,
  });
  await assert.rejects(site.check(), { code: "CSP_TABLE_UNREADABLE", message: /INPUT/ });
  assert.equal(await node.exec(["nft", "list", "ruleset"]), before);
  await node.exec(["nft", "flush", "chain", "ip", "filter", "FORWARD"]);
  await assert.rejects(site.repair(), { code: "CSP_TABLE_UNREADABLE" });
  await node.exec(["nft", "flush", "chain", "ip", "filter", "INPUT"]);
  assert.match(await site.repair(), /-I FORWARD 1 /, "a readable table is repaired");
});

test("a change waits while another program holds the legacy lock, and rules stay", async () => {
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
  await eventually(() => assert.match(agent.log, /CSP_LOCK_HELD/));
  assert.match(await node.exec(["iptables-legacy-save"]), /--to-destination 10\.1\.0\.11:8080/);
  await holder.stop();
  await eventually(async () =>
    assert.match(await node.exec(["iptables-legacy-save"]), /--to-destination 10\.1\.0\.12:8080/),
  );
  assert.doesNotMatch(agent.log, /refused-by-kernel/);
  await agent.stop();
});
