import assert from "node:assert/strict";
import { test } from "node:test";
import { service } from "../backends/service.ts";
import { AgentNode } from "../stages/agent-process.ts";

for (const flavour of ["nft", "legacy"]) {
  test(`render prints everything that run would write, ${flavour} flavour`, async () => {
    await using on = await AgentNode.create();
    const { node, manifests } = on;
    const more = Array.from({ length: 20 }, (_, i) => `241.0.2.${i + 1}`);
    const vips = ["241.0.1.7", "1.2.3.4", ...more];
    const spec = { sessionAffinity: "ClientIP" };
    manifests.write("web", ...service("shop/web", vips, ["10.1.0.11", "10.1.0.12"], { spec }));
    const pods = ["--pod-cidrs", "10.1.0.0/16", "--masquerade", "off-cluster"];
    const render = ["bin/clusterset-agent", "render", "--manifests", manifests.path, ...pods];
    const text = await node.exec([...render, "--cluster-id", "c1"]);
    await node.exec([`iptables-${flavour}-restore`, "--noflush", "-w"], { stdin: text });
    const agent = on.agent([...pods, "--iptables-flavour", flavour]);
    await agent.start();
    assert.deepEqual(await agent.writes(), [0, 0]);
    await agent.stop();
  });
}
