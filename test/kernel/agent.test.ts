import assert from "node:assert/strict";
import { test } from "node:test";
import { service } from "../backends/service.ts";
import {
  AGENT,
  AgentNode,
  AgentProcess,
  eventually,
  ManifestDirectory,
} from "../stages/agent-process.ts";

const web = (...addresses: readonly string[]) =>
  service("shop/web", ["241.0.1.7", "fd00:241::7"], addresses);

test("rules of an earlier run in the other flavour, or in a disabled family, are removed", async () => {
  await using on = await AgentNode.create();
  const { node } = on;
  on.manifests.write("web", ...web("10.1.0.11"));
  const both = ["--clusterset-cidr", "241.0.0.0/8,fd00:241::/108"];
  const legacy = on.agent([...both, "--iptables-flavour", "legacy"]);
  await legacy.start();
  await legacy.stop();
  const nft = on.agent(["--clusterset-cidr", "241.0.0.0/8", "--iptables-flavour", "nft"]);
  await nft.start();
  await eventually(async () => {
    assert.doesNotMatch(await node.exec(["iptables-legacy-save"]), /CSP-/);
    assert.doesNotMatch(await node.exec(["ip6tables-legacy-save"]), /CSP-/);
  });
  assert.match(await node.exec(["iptables-nft-save"]), /shop\/web:http local c1/);
  await nft.stop();
});

test("another ClusterSet CIDR and another masquerading replace those of an earlier run", async () => {
  await using on = await AgentNode.create();
  const { node } = on;
  on.manifests.write("web", ...web("10.1.0.11"));
  const pods = ["--pod-cidrs", "10.1.0.0/16"];
  const before = on.agent([...pods, "--masquerade", "all"]);
  await before.start();
  assert.match(await node.exec(["iptables-save"]), /"masquerade all" -j MASQUERADE/);
  await before.stop();
  const agent = on.agent([...pods, "--clusterset-cidr", "240.0.0.0/7", "--masquerade", "remote"]);
  await agent.start();
  const rules = await node.exec(["iptables-save"]);
  assert.match(rules, /-A PREROUTING -d 240\.0\.0\.0\/7 .* -j CSP-SERVICES\n/);
  assert.match(rules, /"masquerade remote" -j MASQUERADE/);
  assert.doesNotMatch(rules, /241\.0\.0\.0\/8|masquerade all/);
  await agent.stop();
});

test("of two agents on a node one writes, and the other takes over when it is killed", async () => {
  await using on = await AgentNode.create();
  const { node } = on;
  on.manifests.write("web", ...web("10.1.0.11"));
  const second = new ManifestDirectory(on.lab, "second");
  second.write("web", ...web("10.1.0.22"));
  const agent = on.agent();
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
  await using on = await AgentNode.create();
  const { node } = on;
  on.manifests.write("web", ...web());
  await node.exec(["iptables-legacy", "-w", "-t", "mangle", "-N", "KUBE-IPTABLES-HINT"]);
  const agent = on.agent();
  await agent.start();
  assert.match(await node.exec(["iptables-legacy-save"]), /shop\/web:http no-endpoint/);
  assert.doesNotMatch(await node.exec(["iptables-nft-save"]), /CSP-/);
  await agent.stop();
});
