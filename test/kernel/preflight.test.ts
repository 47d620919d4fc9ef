import assert from "node:assert/strict";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { UNLIMITED } from "../../agent/backends/backend.ts";
import { ExtensionTrials } from "../../agent/backends/iptables/kind.ts";
import { FAMILIES } from "../../api/address.ts";
import { hold } from "../connections/connections.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { virtualService } from "../generators/services.ts";
import { Lab } from "../lab/lab.ts";
import type { Namespace } from "../lab/namespace.ts";
import { request, startServer } from "../lab/programs.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";
import { PreflightStage } from "../stages/preflight-stage.ts";

/** In a pod: the next segment with data of a server has a number that is a quarter of all numbers ahead. */
const OUTSIDE = ["ip", "ip6"]
  .map(
    (family) => `add table ${family} outside; delete table ${family} outside
      table ${family} outside { chain sent { type filter hook output priority 0
        tcp sport != 8080 accept; tcp flags & psh == 0 accept
        limit rate over 1/day burst 1 packets accept; counter
        @th,32,2 3 @th,32,2 set 0 accept; @th,32,2 2 @th,32,2 set 3
        @th,32,2 1 @th,32,2 set 2; @th,32,2 0 @th,32,2 set 1; }; }`,
  )
  .join("\n");
const RANGES = ["241.0.0.0/8", "fd00:241::/108"];

for (const flavour of ["nft", "legacy"] as const) {
  describe(`preflight on a real node, ${flavour} flavour`, () => {
    let lab: Lab;
    let node: Namespace;
    let looked: PreflightStage;
    before(async () => {
      lab = await Lab.oneNode({ a: [], b: [], c: [] });
      node = lab.node("c1", "n1");
    });
    afterEach(() => looked.stop());
    after(() => lab.remove());

    /** The lines of the first run of a new agent. */
    const look = async (environment: Readonly<Record<string, string>> = {}) => {
      looked = new PreflightStage(node, flavour, RANGES, environment);
      return looked.lines();
    };
    const ip = (...args: string[]) => node.exec(["ip", ...args]);

    test("a working node has no findings", async () => {
      looked = new PreflightStage(node, flavour, RANGES);
      await looked.guard();
      const lines = await looked.lines();
      const told = Object.values(lines).filter(
        (line) => !line.startsWith("[+]") && !line.includes("preflight-invalid-"),
      );
      assert.deepEqual(told, [
        "[?]preflight-service-range-IPv4 not-tested: No Service range is known: set --service-cidrs, or let the agent list ServiceCIDRs.",
        "[?]preflight-reach-IPv4 not-tested: No EndpointSlices were listed yet.",
        "[?]preflight-service-range-IPv6 not-tested: No Service range is known: set --service-cidrs, or let the agent list ServiceCIDRs.",
        "[?]preflight-reach-IPv6 not-tested: No EndpointSlices were listed yet.",
      ]);
      assert.equal(Object.keys(lines).length, 20);
    });

    test("one SYN proves that packets of pods pass our rules, and no other is sent", async () => {
      looked = new PreflightStage(node, flavour, RANGES);
      await looked.guard();
      const refusals = await looked.refusals();
      await looked.lines();
      assert.equal(await looked.refusals(), refusals + 2, "one for each family");
      await looked.lines();
      assert.equal(await looked.refusals(), refusals + 2);
    });

    test("an import that has the probed address gets no connection", async () => {
      looked = new PreflightStage(node, flavour, RANGES);
      await looked.guard([virtualService({ vips: ["241.255.255.254"] })]);
      const refusals = await looked.refusals();
      assert.match((await looked.lines())["pods-IPv4"] ?? "", /^\[\+\]/);
      assert.equal(await looked.refusals(), refusals + 2);
      const rules = await node.exec([`iptables-${flavour}-save`, "-c", "-t", "nat"]);
      assert.match(rules, /^\[0:0\] .* --to-destination 10\.1\.0\.1:8080$/m);
    });

    test("without a route, clients on the node get an error, and no-route is reported", async (t) => {
      t.after(() => ip("route", "add", "default", "via", "172.20.0.1", "dev", "eth0"));
      await ip("route", "del", "default");
      assert.match((await look())["route-IPv4"] ?? "", /^\[-\].* no-route: .*241\.0\.0\.0\/8/);
      const { stdout } = await node.run(request("tcp://241.0.0.10:80"));
      assert.match(stdout, /unreachable/);
      assert.match((await look())["route-IPv6"] ?? "", /^\[\+\]/);
      await looked.guard();
      assert.match(
        (await looked.lines())["pods-IPv4"] ?? "",
        /^\[\?\].* No pod probed yet/,
        "a pod's packet would have no route",
      );
    });

    for (const type of ["unreachable", "blackhole", "prohibit"]) {
      test(`a route of type ${type} is reported by its name`, async (t) => {
        for (const [family, range = ""] of [
          ["-4", RANGES[0]],
          ["-6", RANGES[1]],
        ] as const) {
          await ip(family, "route", "add", type, range);
          t.after(() => ip(family, "route", "del", type, range));
        }
        const lines = await look();
        assert.match(lines["route-IPv4"] ?? "", new RegExp(` route-refuses: .*type ${type} `));
        assert.match(lines["route-IPv6"] ?? "", new RegExp(` route-refuses: .*type ${type} `));
      });
    }

    test("pods on a bridge past netfilter are reported with the bridge and the sysctl", async (t) => {
      const links = await ip("-o", "link", "show");
      const { id } = lab.pod("c1", "n1", "a");
      const line = links.split("\n").find((one) => one.includes(`link-netns ${id}`)) ?? "";
      const [, link = ""] = /^\d+: ([^:@]+)@/.exec(line) ?? assert.fail(links);
      await ip("link", "add", "cni0", "type", "bridge");
      t.after(() => ip("link", "del", "cni0"));
      await ip("link", "set", link, "master", "cni0");
      const lineOf = async (family: string) => (await look())[`bridge-${family}`] ?? "";
      for (const [family, name] of [
        ["IPv4", "iptables"],
        ["IPv6", "ip6tables"],
      ] as const) {
        const sysctl = `net.bridge.bridge-nf-call-${name}`;
        const set = (value: string) => node.exec(["sysctl", "-qw", `${sysctl}=${value}`]);
        await set("0");
        assert.match(
          await lineOf(family),
          new RegExp(` bridge-unfiltered: .*bridge cni0 .*${sysctl}=1`),
        );
        await ip("link", "set", "cni0", "type", "bridge", `nf_call_${name}`, "1");
        assert.match(await lineOf(family), /^\[\+\]/);
        await ip("link", "set", "cni0", "type", "bridge", `nf_call_${name}`, "0");
        await set("1");
        assert.match(await lineOf(family), /^\[\+\]/);
      }
    });

    test("a segment outside of the window ends a connection if the check shows that, and not if kube-proxy drops it or the kernel is liberal", async (t) => {
      const [client, endpoint] = [lab.pod("c1", "n1", "a"), lab.pod("c1", "n1", "b")];
      const server = await startServer(endpoint);
      t.after(() => server.stop());
      const both = async (...args: string[]) => {
        for (const program of [`iptables-${flavour}`, `ip6tables-${flavour}`])
          await node.exec([program, ...args]);
      };
      const vips = { IPv4: "241.0.0.10", IPv6: "fd00:241::10" };
      const services = FAMILIES.map((family) => {
        const endpoints = [{ address: endpoint.address(family), port: 8080, cluster: "c1" }];
        return virtualService({ family, vips: [vips[family]], endpoints });
      });
      /** The faults of connections after such a segment, one of each family. */
      const faults = async (line: RegExp) => {
        looked = new PreflightStage(node, flavour, RANGES);
        await looked.guard(services);
        const found = await looked.lines();
        for (const family of FAMILIES) assert.match(found[`invalid-${family}`] ?? "", line);
        const held = await Promise.all(
          [vips.IPv4, `[${vips.IPv6}]`].map((vip) => hold(client, vip)),
        );
        await endpoint.exec(["nft", "-f", "-"], { stdin: OUTSIDE });
        const ends = held.map(async (one) => {
          const sent = one.count;
          await eventually(() => assert.ok(one.fault !== undefined || one.count > sent + 30));
          const { fault } = one;
          await one.close();
          return fault;
        });
        const all = await Promise.all(ends);
        const tables = await endpoint.exec(["nft", "list", "ruleset"]);
        assert.equal(tables.match(/counter packets 1 /g)?.length, 2, tables);
        return all;
      };
      assert.deepEqual(await faults(/^\[\?\].* invalid-accepted: /), ["silent", "silent"]);
      const isLiberal = (value: string) =>
        node.exec(["sysctl", "-qw", `net.netfilter.nf_conntrack_tcp_be_liberal=${value}`]);
      await isLiberal("1");
      assert.deepEqual(await faults(/^\[\+\]/), [undefined, undefined]);
      await isLiberal("0");
      await both("-N", "KUBE-FORWARD");
      await both(..."-A KUBE-FORWARD -m conntrack --ctstate INVALID -j DROP".split(" "));
      await both("-A", "FORWARD", "-j", "KUBE-FORWARD");
      assert.deepEqual(await faults(/^\[\+\]/), [undefined, undefined]);
    });

    test("a missing extension is reported with what does not work", async () => {
      const libraries = join(lab.directory, `xtables-${flavour}`);
      mkdirSync(libraries);
      cpSync("/usr/lib/x86_64-linux-gnu/xtables", libraries, { recursive: true });
      rmSync(join(libraries, "libxt_recent.so"));
      const lines = await look({ XTABLES_LIBDIR: libraries });
      assert.match(
        lines["extensions-IPv4"] ?? "",
        / extension-missing: .*recent \(needed for imports with ClientIP/,
      );
      assert.doesNotMatch(lines["extensions-IPv4"] ?? "", /statistic|sctp/);
    });

    test("the extension test leaves nothing behind on the node", async () => {
      const saved = () => node.exec([`iptables-${flavour}-save`, "-t", "nat"]);
      const before = (await saved()).replaceAll(/^#.*\n/gm, "");
      await look();
      assert.equal((await saved()).replaceAll(/^#.*\n/gm, ""), before);
    });

    test("pods that bypass the node's netfilter are found, and no longer reported once they do not", async (t) => {
      const pods = ["a", "b", "c"].map((name) => lab.pod("c1", "n1", name));
      looked = new PreflightStage(node, flavour, RANGES);
      await looked.guard();
      for (const pod of pods) await detour(lab, pod);
      const sign = "type veth peer name cilium_net".split(" ");
      await ip("link", "add", "cilium_host", ...sign);
      t.after(() => ip("link", "del", "cilium_host"));
      assert.match(
        (await looked.lines())["pods-IPv4"] ?? "",
        /^\[\?\].* bypass-suspected: .*probed: 1;/,
      );
      assert.match(
        (await looked.lines())["pods-IPv4"] ?? "",
        /^\[\?\].* bypass-suspected: .*probed: 2;/,
      );
      const bypassed = await looked.lines();
      for (const family of ["IPv4", "IPv6"]) {
        const line = bypassed[`pods-${family}`] ?? "";
        assert.match(line, /^\[-\].* pods-bypass: .*bpf\.hostLegacyRouting=true/);
        for (const pod of pods) assert.ok(line.includes(pod.id), `${line}: ${pod.id}`);
      }
      for (const pod of pods) await direct(pod);
      assert.match((await looked.lines())["pods-IPv4"] ?? "", /^\[\+\]/);
    });
  });
}

/** Gives a pod a route to ClusterSetIPs that bypasses its node. */
async function detour(lab: Lab, pod: Namespace): Promise<void> {
  const link = `by-${pod.path.split("/").at(-1)}`;
  const back = pod.addresses.map(({ text }) => `route add ${text} dev ${link}`);
  await lab.router.exec(["ip", "-batch", "-"], {
    stdin: [
      `link add ${link} type veth peer name eth1 netns ${pod.id}`,
      `link set ${link} up`,
      `addr add 172.20.0.1/32 dev ${link}`,
      `addr add fd00:20::1/128 dev ${link} nodad`,
      ...back,
    ].join("\n"),
  });
  await pod.exec(["ip", "-batch", "-"], {
    stdin: [
      "link set eth1 up",
      "route add 172.20.0.1 dev eth1",
      "route add fd00:20::1 dev eth1",
      `route add ${RANGES[0]} via 172.20.0.1 dev eth1`,
      `route add ${RANGES[1]} via fd00:20::1 dev eth1`,
    ].join("\n"),
  });
}

/** Deletes that route. */
async function direct(pod: Namespace): Promise<void> {
  await pod.exec(["ip", "link", "del", "eth1"]);
}

test("a test of extensions that is aborted limits nothing", async () => {
  const stop = AbortSignal.abort();
  assert.deepEqual(await new ExtensionTrials("nft").limits("IPv4", stop), UNLIMITED);
});

test("the agent reports findings on /readyz?verbose, as a metric and in its log, and stays ready", async () => {
  await using lab = await Lab.oneNode({ a: [] });
  const node = lab.node("c1", "n1");
  await node.exec(["ip", "route", "del", "default"]);
  const manifests = new ManifestDirectory(lab, "manifests");
  const agent = new AgentProcess(node, manifests.path, ["--cluster-id", "c1", "--node-name", "n1"]);
  await agent.start();
  await eventually(async () => {
    assert.match(await agent.page("/readyz?verbose"), /^\[-\]preflight-route-IPv4 no-route: /m);
  });
  assert.match(await agent.page("/readyz?verbose"), /^\[\?\]preflight-pods-IPv4 not-tested: /m);
  const text = await agent.page("/metrics");
  assert.match(text, /^clusterset_agent_preflight_failing\{check="route",family="IPv4"\} 1$/m);
  assert.match(text, /^clusterset_agent_preflight_failing\{check="forwarding",family="IPv4"\} 0$/m);
  assert.match(text, /^clusterset_agent_conntrack_entries_limit [1-9]/m);
  assert.equal(agent.log.split('"reason":"no-route"').length, 2, "logged once");
  assert.equal((await agent.stop()).code, 0);
  await node.exec(["ip", "route", "add", "default", "via", "172.20.0.1", "dev", "eth0"]);
  await agent.start();
  // Preflight runs as soon as the guard is programmed, not a minute later.
  await eventually(async () => {
    assert.match(await agent.page("/readyz?verbose"), /^\[\+\]preflight-pods-IPv4 ok$/m);
  });
  assert.equal((await agent.stop()).code, 0);
});

test("a cluster that admits no connection of the node is named before any traffic, by IP family", async () => {
  const others = ["c2", "c3"];
  await using lab = await Lab.create({
    clusters: ["c1", ...others].map((id) => ({
      id,
      nodes: [{ name: "n1", pods: id === "c1" ? {} : { web: [] } }],
    })),
  });
  const web = (cluster: string) => lab.pod(cluster, "n1", "web");
  await Promise.all(others.map((id) => startServer(web(id), "--name", id)));
  const policy = "-A FORWARD -s 172.20.1.0/24 -j DROP";
  await lab.node("c3", "n1").exec(["iptables", ...policy.split(" ")]);
  const manifests = new ManifestDirectory(lab, "manifests");
  const http = { name: "http", port: 80, protocol: "TCP" };
  const slices = others.flatMap((cluster) =>
    FAMILIES.map((family) => {
      const name = `web-${cluster}-${family.toLowerCase()}`;
      const endpoints = [web(cluster).address(family)];
      return sliceObject(name, "shop/web", { cluster }, [{ ...http, port: 8080 }], endpoints);
    }),
  );
  const vips = ["241.0.0.10", "fd00:241::10"];
  manifests.write("web", importObject("shop/web", vips, [http]), ...slices);
  const flags = ["--cluster-id", "c1", "--node-name", "n1", "--clusterset-cidr", RANGES.join()];
  const agent = new AgentProcess(lab.node("c1", "n1"), manifests.path, flags);
  await agent.start();
  await eventually(async () => {
    const page = await agent.page("/readyz?verbose");
    assert.match(
      page,
      /^\[\?\]preflight-reach-IPv4 blind: This node reached 0 of 1 endpoint of "c3", but 1 of 1 endpoint of "c2"\. /m,
    );
    const all = '1 of 1 endpoint of "c2", 1 of 1 endpoint of "c3"';
    assert.ok(page.includes(`\n[+]preflight-reach-IPv6 ok: ${all}\n`), page);
  });
  assert.equal((await agent.stop()).code, 0);
});
