import assert from "node:assert/strict";
import { test } from "node:test";
import { service } from "../backends/service.ts";
import { Lab } from "../lab/lab.ts";
import { AGENT, AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";

const web = (...addresses: readonly string[]) =>
  service("shop/web", ["241.0.1.7", "fd00:241::7"], addresses);

test("rules of an earlier run in the other flavour, or in a disabled family, are removed", async () => {
  await using lab = await Lab.oneNode();
  const manifests = new ManifestDirectory(lab, "manifests");
  manifests.write("web", ...web("10.1.0.11"));
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
  await using lab = await Lab.oneNode();
  const manifests = new ManifestDirectory(lab, "manifests");
  manifests.write("web", ...web("10.1.0.11"));
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
  await using lab = await Lab.oneNode();
  const node = lab.node("c1", "n1");
  const first = new ManifestDirectory(lab, "first");
  first.write("web", ...web("10.1.0.11"));
  const second = new ManifestDirectory(lab, "second");
  second.write("web", ...web("10.1.0.22"));
  const agent = new AgentProcess(node, first.path, ["--cluster-id", "c1"]);
  const successor = new AgentProcess(node, second.path, ["--cluster-id", "c1"]);
  await agent.start();
  successor.launch();
  await eventually(() => assert.match(successor.log, /Another agent programs this node/));
  assert.match(await node.exec(["iptables-save"]), /10\.1\.0\.11:8080/);
  await agent.kill();
  await eventually(async () =>
    assert.match(await node.exec(["iptables-save"]), /10\.1\.0\.22:8080/),
  );
  const refused = await node.run([AGENT, "cleanup"]);
  assert.equal(refused.code, 1);
  assert.match(await node.exec(["iptables-save"]), /10\.1\.0\.22:8080/);
  await successor.stop();
});

test("the agent uses the flavour of the kubelet's hint chain", async () => {
  await using lab = await Lab.oneNode();
  const manifests = new ManifestDirectory(lab, "manifests");
  manifests.write("web", ...web());
  const node = lab.node("c1", "n1");
  await node.exec(["iptables-legacy", "-w", "-t", "mangle", "-N", "KUBE-IPTABLES-HINT"]);
  const agent = new AgentProcess(node, manifests.path, ["--cluster-id", "c1"]);
  await agent.start();
  assert.match(await node.exec(["iptables-legacy-save"]), /shop\/web:http no-endpoint/);
  assert.doesNotMatch(await node.exec(["iptables-nft-save"]), /CSP-/);
  await agent.stop();
});
