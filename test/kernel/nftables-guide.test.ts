import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { stepsOf } from "../e2e/guide.ts";
import { isAsShown } from "../e2e/shown.ts";
import { importObject, sliceObject } from "../generators/objects.ts";
import { Lab } from "../lab/lab.ts";
import { AgentProcess, eventually, ManifestDirectory } from "../stages/agent-process.ts";

// docs/guides/nftables.md, by copy and paste, on a node with the two imports that it shows.

const HTTP = { name: "http", port: 80, protocol: "TCP" };
const GUIDE = readFileSync(`${import.meta.dirname}/../../docs/guides/nftables.md`, "utf8");

let lab: Lab;
let agent: AgentProcess;
let manifests: ManifestDirectory;
const node = () => lab.node("c1", "n1");

function use(...addresses: readonly string[]): void {
  const origin = { cluster: "c1", region: "eu-west" };
  const ports = [{ ...HTTP, port: 8080 }];
  manifests.write("slice", sliceObject("web-c1", "shop/web", origin, ports, addresses));
}

before(async () => {
  lab = await Lab.create({ clusters: [{ id: "c1", nodes: [{ name: "n1" }] }] });
  manifests = new ManifestDirectory(lab, "manifests");
  manifests.write("web", importObject("shop/web", ["241.0.0.10"], [HTTP]));
  manifests.write("empty", importObject("shop/empty", ["241.0.0.11"], [HTTP]));
  use("10.1.0.11", "10.1.0.12");
  const flags = ["--cluster-id", "c1", "--backend", "nftables"];
  agent = new AgentProcess(node(), manifests.path, flags);
  await agent.start();
  await agent.page("/readyz");
});
after(async () => {
  await agent.stop();
  await lab.remove();
});

test("each command of the nftables guide prints what the guide shows", async () => {
  const steps = stepsOf("nftables.md").filter(({ place }) => place === "node");
  assert.ok(steps.length > 3);
  for (const { commands, shown } of steps) {
    const seen = await node().exec(["sh", "-c", commands]);
    if (shown !== undefined) assert.ok(isAsShown(shown, ordered(seen)), `${commands}\n${seen}`);
  }
});

/** Elements of a set have no order; the guide has one. */
function ordered(text: string): string {
  return text.replace(/elements = \{ (.*?) \}$/gms, (_, elements: string) => {
    const sorted = elements.split(/,\s+/).sort(byKey);
    return `elements = { ${sorted.join(`,\n${"\t".repeat(3)}     `)} }`;
  });
}

function byKey(a: string, b: string): number {
  // `none` is 0:0.
  const key = (text: string) => text.replace(". none ", ". 0:0 ");
  return key(a) < key(b) ? -1 : 1;
}

test("nft monitor prints a change as the guide shows it", async () => {
  const [, shown = ""] = /```console\n\$ nft monitor elements\n(.*?)```/s.exec(GUIDE) ?? [];
  const monitor = node().spawn(["nft", "monitor", "elements"]);
  // Nothing tells that it listens.
  await eventually(async () => {
    await node().exec(["nft", "add element ip clusterset-proxy explicit { 192.0.2.1 }"]);
    await node().exec(["nft", "delete element ip clusterset-proxy explicit { 192.0.2.1 }"]);
    assert.ok(monitor.lines.length > 0);
  });
  use("10.1.0.11", "10.1.0.13");
  await monitor.line(/add element.* services/);
  const ours = monitor.lines.filter(
    (line) => !line.includes("explicit") && line.includes(" element "),
  );
  assert.ok(isAsShown(shown, ours.join("\n")), ours.join("\n"));
  await monitor.stop();
});
