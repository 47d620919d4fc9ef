import assert from "node:assert/strict";
import { test } from "node:test";
import { service } from "../backends/service.ts";
import { Lab } from "../lab/lab.ts";
import { AgentProcess, ManifestDirectory } from "../stages/agent-process.ts";

for (const flavour of ["nft", "legacy"]) {
  test(`render prints everything that run would write, ${flavour} flavour`, async () => {
    await using lab = await Lab.oneNode();
    const node = lab.node("c1", "n1");
    const manifests = new ManifestDirectory(lab, "manifests");
    const more = Array.from({ length: 20 }, (_, i) => `241.0.2.${i + 1}`);
    const vips = ["241.0.1.7", "1.2.3.4", ...more];
    const spec = { sessionAffinity: "ClientIP" };
    manifests.write("web", ...service("shop/web", vips, ["10.1.0.11", "10.1.0.12"], { spec }));
    const pods = ["--pod-cidrs", "10.1.0.0/16", "--masquerade", "off-cluster"];
    const flags = ["--cluster-id", "c1", ...pods];
    const program = ["bin/clusterset-agent", "render", "--manifests", manifests.path, ...flags];
    const text = await node.exec(program);
    await node.exec([`iptables-${flavour}-restore`, "--noflush", "-w"], { stdin: text });
    const agent = new AgentProcess(node, manifests.path, [...flags, "--iptables-flavour", flavour]);
    await agent.start();
    assert.deepEqual(await agent.writes(), [0, 0]);
    await agent.stop();
  });
}
