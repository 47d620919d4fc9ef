import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Lab } from "../lab/lab.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../support/agent-process.ts";
import { importObject, sliceObject } from "../support/objects.ts";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
const TARGET = { ...HTTP, port: 8080 };
const WEB = importObject("shop/web", ["241.0.1.7", "fd00:241::7"], [HTTP]);

function web(cluster: string, endpoints: readonly (string | object)[]): object {
  return sliceObject(
    `web-${cluster}`,
    "shop/web",
    { cluster, region: "eu-west" },
    [TARGET],
    endpoints,
  );
}

for (const flavour of ["nft", "legacy"] as const) {
  describe(`the agent on a node, ${flavour} flavour`, () => {
    let lab: Lab;
    let manifests: ManifestDirectory;
    let agent: AgentProcess;
    const rules = async () =>
      (await agent.node.exec([`iptables-${flavour}-save`])) +
      (await agent.node.exec([`ip6tables-${flavour}-save`]));
    const ours = async () =>
      (await rules())
        .split("\n")
        .filter((line) => /CSP-/.test(line))
        .join("\n");
    const flags = [
      ...["--cluster-id", "c1", "--region", "eu-west", "--node-name", "n1"],
      ...["--clusterset-cidr", "241.0.0.0/8,fd00:241::/108", "--iptables-flavour", flavour],
    ];

    before(async () => {
      lab = await Lab.create({ clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }] });
      manifests = new ManifestDirectory(lab, "manifests");
      agent = new AgentProcess(lab.node("c1", "n1"), manifests.path, flags);
    });
    after(() => lab.remove());

    test("writes nothing before its directory of manifests is there", async () => {
      const missing = join(lab.directory, "missing");
      const early = new AgentProcess(lab.node("c1", "n1"), missing, flags);
      early.launch();
      await eventually(() => early.page("/livez"));
      await sleep(300);
      assert.equal(await ours(), "");
      new ManifestDirectory(lab, "missing").write("web", WEB);
      await early.page("/readyz");
      assert.match(await ours(), /shop\/web:http no-endpoint/);
      await early.stop();
    });

    test("a restart over its own rules writes nothing", async () => {
      manifests.write("web", WEB, web("c1", ["10.1.0.11", "10.1.0.12"]), web("c2", ["10.2.0.11"]));
      await agent.start();
      const first = await ours();
      assert.match(first, /"shop\/web:http local c1" .* --to-destination 10\.1\.0\.11:8080/);
      const exit = await agent.stop();
      assert.equal(exit.code, 0, agent.log);
      assert.equal(await ours(), first, "SIGTERM leaves the rules");
      await agent.start();
      assert.equal(await ours(), first);
      assert.equal(await agent.metric("clusterset_agent_kernel_objects_written_total"), 0);
      assert.equal(await agent.metric("clusterset_agent_kernel_objects_deleted_total"), 0);
    });

    test("what changed while it was away is all that a restart writes", async () => {
      await agent.stop();
      manifests.write("web", WEB, web("c1", []), web("c2", ["10.2.0.11"]));
      await agent.start();
      assert.match(await ours(), /"shop\/web:http regional c2" -j DNAT/);
      assert.equal(await agent.metric("clusterset_agent_kernel_objects_written_total"), 1);
      assert.equal(await agent.metric("clusterset_agent_kernel_objects_deleted_total"), 0);
    });

    test("a file that breaks keeps its last good rules, and says which line", async () => {
      const before = await ours();
      writeFileSync(join(manifests.path, "web.json"), '{"kind": "List",\n "items": [}');
      await eventually(async () => {
        assert.equal(await agent.metric("clusterset_agent_manifest_files_broken"), 1);
      });
      assert.match(agent.log, /"reason":"syntax-error".*"file":"web.json".*"line":2/);
      assert.equal(await ours(), before);
      manifests.write("web", WEB, web("c1", ["10.1.0.11"]));
      await eventually(async () => assert.match(await ours(), /local c1" -j DNAT/));
    });

    test("killed at random moments of churn, it ends in the same rules as one that was not", async () => {
      for (let round = 0; round < 12; round++) {
        for (let change = 0; change < 6; change++) {
          const endpoints = Array.from(
            { length: (round + change) % 5 },
            (_, i) => `10.1.0.${11 + i}`,
          );
          const vips = Array.from({ length: 18 }, (_, i) => `198.51.100.${1 + ((i * round) % 40)}`);
          manifests.write(
            "web",
            importObject("shop/web", [...new Set([...vips, "241.0.1.7"])], [HTTP]),
            web("c1", endpoints),
          );
          await sleep((round * 7 + change * 5) % 23);
        }
        await agent.kill();
        agent.launch();
      }
      manifests.write("web", WEB, web("c1", ["10.1.0.11", "10.1.0.12"]));
      const expected = [
        /fd00:241::7\/128.*no-endpoint/,
        /local c1".*probability 0\.5.*10\.1\.0\.11/,
      ];
      const settled = await eventually(async () => {
        const now = await ours();
        for (const pattern of expected) assert.match(now, pattern);
        assert.doesNotMatch(now, /198\.51\.100/);
        return now;
      });
      await agent.stop();
      await agent.node.exec(["bin/clusterset-agent", "cleanup"]);
      assert.equal(await ours(), "");
      await agent.start();
      assert.equal(await ours(), settled);
    });

    test("cleanup removes what is ours and nothing else, and may be repeated", async () => {
      await agent.stop();
      const tool = `iptables-${flavour}`;
      await agent.node.exec([tool, "-w", "-t", "nat", "-N", "MINE"]);
      await agent.node.exec([
        tool,
        "-w",
        "-t",
        "nat",
        "-A",
        "PREROUTING",
        "-d",
        "9.9.9.9",
        "-j",
        "MINE",
      ]);
      await agent.node.exec(["bin/clusterset-agent", "cleanup"]);
      assert.equal(await ours(), "");
      assert.match(await rules(), /-A PREROUTING -d 9\.9\.9\.9\/32 -j MINE/);
      await agent.node.exec(["bin/clusterset-agent", "cleanup"]);
    });
  });
}

test("what an earlier run left in the other flavour, or in a family that is off now, is removed", async () => {
  await using lab = await Lab.create({
    clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }],
  });
  const manifests = new ManifestDirectory(lab, "manifests");
  manifests.write("web", WEB, web("c1", ["10.1.0.11"]));
  const node = lab.node("c1", "n1");
  const both = ["--cluster-id", "c1", "--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
  const legacy = new AgentProcess(node, manifests.path, [...both, "--iptables-flavour", "legacy"]);
  await legacy.start();
  await legacy.stop();
  const four = ["--cluster-id", "c1", "--clusterset-cidr", "241.0.0.0/8"];
  const nft = new AgentProcess(node, manifests.path, [...four, "--iptables-flavour", "nft"]);
  await nft.start();
  await eventually(async () => {
    assert.doesNotMatch(await node.exec(["iptables-legacy-save"]), /CSP-/);
    assert.doesNotMatch(await node.exec(["ip6tables-legacy-save"]), /CSP-/);
  });
  assert.match(await node.exec(["iptables-nft-save"]), /shop\/web:http local c1/);
  await nft.stop();
});

test("another ClusterSet CIDR and another masquerading replace those of an earlier run", async () => {
  await using lab = await Lab.create({
    clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }],
  });
  const manifests = new ManifestDirectory(lab, "manifests");
  manifests.write("web", WEB, web("c1", ["10.1.0.11"]));
  const node = lab.node("c1", "n1");
  const flags = ["--cluster-id", "c1", "--pod-cidrs", "10.1.0.0/16"];
  const before = new AgentProcess(node, manifests.path, [...flags, "--masquerade", "all"]);
  await before.start();
  assert.match(await node.exec(["iptables-save"]), /"masquerade all" -j MASQUERADE/);
  await before.stop();
  const wider = [...flags, "--clusterset-cidr", "240.0.0.0/7", "--masquerade", "remote"];
  const agent = new AgentProcess(node, manifests.path, wider);
  await agent.start();
  const rules = await node.exec(["iptables-save"]);
  assert.match(rules, /-A PREROUTING -d 240\.0\.0\.0\/7 .* -j CSP-240\.0\.0\.0\/7\n/);
  assert.match(rules, /"masquerade remote" -j MASQUERADE/);
  assert.doesNotMatch(rules, /241\.0\.0\.0\/8|masquerade all/);
  await agent.stop();
});

test("of two agents on a node one writes, and the other takes over when it is killed", async () => {
  await using lab = await Lab.create({
    clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }],
  });
  const node = lab.node("c1", "n1");
  const first = new ManifestDirectory(lab, "first");
  first.write("web", WEB, web("c1", ["10.1.0.11"]));
  const second = new ManifestDirectory(lab, "second");
  second.write("web", WEB, web("c1", ["10.1.0.22"]));
  const agent = new AgentProcess(node, first.path, ["--cluster-id", "c1"]);
  const successor = new AgentProcess(node, second.path, ["--cluster-id", "c1"]);
  await agent.start();
  successor.launch();
  await eventually(() => assert.match(successor.log, /Another agent writes to this node/));
  assert.match(await node.exec(["iptables-save"]), /10\.1\.0\.11:8080/);
  await agent.kill();
  await eventually(async () =>
    assert.match(await node.exec(["iptables-save"]), /10\.1\.0\.22:8080/),
  );
  const refused = await node.run(["bin/clusterset-agent", "cleanup"], { timeout: 25_000 });
  assert.equal(refused.code, 1);
  assert.match(await node.exec(["iptables-save"]), /10\.1\.0\.22:8080/);
  await successor.stop();
});

test("the flavour that the kubelet's hint is in is the one that is written to", async () => {
  await using lab = await Lab.create({
    clusters: [{ id: "c1", nodes: [{ name: "n1", pods: {} }] }],
  });
  const manifests = new ManifestDirectory(lab, "manifests");
  manifests.write("web", WEB);
  const node = lab.node("c1", "n1");
  await node.exec(["iptables-legacy", "-w", "-t", "mangle", "-N", "KUBE-IPTABLES-HINT"]);
  const agent = new AgentProcess(node, manifests.path, ["--cluster-id", "c1"]);
  await agent.start();
  assert.match(await node.exec(["iptables-legacy-save"]), /shop\/web:http no-endpoint/);
  assert.doesNotMatch(await node.exec(["iptables-nft-save"]), /CSP-/);
  await agent.stop();
});
