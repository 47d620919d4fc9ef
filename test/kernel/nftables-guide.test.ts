import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { service } from "../backends/service.ts";
import { headingsWithCommands, isAsShown, type Step, stepsOf } from "../e2e/guide.ts";
import type { Process } from "../lab/process.ts";
import { request } from "../lab/programs.ts";
import { AgentNode, type AgentProcess, eventually } from "../stages/agent-process.ts";

// docs/guides/nftables.md, by copy and paste, on a node with the two imports that it shows. The tests are one story, in
// order.

const WHO = "Which program changed it";
const GUIDE = readFileSync(`${import.meta.dirname}/../../docs/guides/nftables.md`, "utf8");

let on: AgentNode;
let agent: AgentProcess;

function use(...addresses: readonly string[]): void {
  on.manifests.write("web", ...service("shop/web", ["241.0.0.10"], addresses));
}

before(async () => {
  on = await AgentNode.create({ a: ["10.1.0.11"], b: ["10.1.0.12"], client: [] });
  await on.serve("a", "b");
  on.manifests.write("empty", ...service("shop/empty", ["241.0.0.11"], []));
  use("10.1.0.11", "10.1.0.12");
  agent = on.agent(["--backend", "nftables"]);
  await agent.start();
  await agent.page("/readyz");
  await on.node.exec(["nft", "add table ip other; add set ip other probe { type ipv4_addr; }"]);
  const pod = on.pod("client");
  // The guide's output has ports of five digits.
  await pod.exec(["sysctl", "-qw", "net.ipv4.ip_local_port_range=32768 60999"]);
  const client = pod.spawn(request("--hold", "http://241.0.0.10"));
  await client.line(/name/);
});
after(async () => {
  await agent.stop();
  await on[Symbol.asyncDispose]();
});

/** Runs blocks of the guide in order; a block is repeated until it prints what the guide shows. */
async function follow(steps: readonly Step[]): Promise<void> {
  assert.ok(steps.length > 0);
  const log = join(on.lab.directory, "agent.log");
  for (const { commands, shown } of steps) {
    const run = async () => {
      // The agent is no pod here, so its log is in a file.
      writeFileSync(log, agent.log);
      return on.node.exec(["sh", "-c", `kubectl() { cat ${log}; }\n${commands}`]);
    };
    if (shown === undefined) await run();
    else
      await eventually(async () => {
        const seen = await run();
        assert.ok(isAsShown(shown, ordered(seen)), `${commands}\n${seen}`);
      });
  }
}

test("each command that reads prints what the guide shows", async () => {
  const headings = headingsWithCommands("nftables.md").filter((one) => one !== WHO);
  assert.ok(headings.length >= 3);
  for (const heading of headings) await follow(stepsOf("nftables.md", heading));
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

test("a deleted element is repaired, logged and counted, and nft monitor prints the program, as the guide shows it", async () => {
  const monitor = await listen("nft monitor");
  await follow(stepsOf("nftables.md", WHO));
  await assertPrinted(monitor, "nft monitor", /by process \d+ \(clusterset-agen\)/);
});

test("nft monitor prints a change as the guide shows it", async () => {
  const monitor = await listen("nft monitor elements");
  use("10.1.0.11", "10.1.0.13");
  await assertPrinted(monitor, "nft monitor elements", /add element.* services/);
});

/** Starts a command that prints changes. */
async function listen(command: string): Promise<Process> {
  const monitor = on.node.spawn(command.split(" "));
  // It does not print that it listens: elements of another program show it.
  await eventually(async () => {
    await on.node.exec(["nft", "add element ip other probe { 192.0.2.1 }"]);
    await on.node.exec(["nft", "delete element ip other probe { 192.0.2.1 }"]);
    assert.ok(monitor.lines.length > 0);
  });
  return monitor;
}

/** Asserts that a command has printed what the guide shows of it, once it has printed the last line. */
async function assertPrinted(monitor: Process, command: string, last: RegExp): Promise<void> {
  const [, shown = ""] =
    new RegExp(`\`\`\`console\n\\$ ${command}\n(.*?)\`\`\``, "s").exec(GUIDE) ?? [];
  await monitor.line(last);
  await monitor.stop();
  // Of the test, and of the tables that the agent writes with any backend.
  const others = / (other|clusterset-health|clusterset-connections) /;
  // A transaction's process is on the line below it.
  const ours = monitor.lines.filter(
    (line, i) => !others.test(line.startsWith("#") ? (monitor.lines[i - 1] ?? " other ") : line),
  );
  const changes = ours.filter((line) => / element |^#/.test(line)).join("\n");
  assert.ok(isAsShown(numbered(shown), numbered(changes)), changes);
}

/** Generations and processes have other numbers in each run. */
function numbered(text: string): string {
  return text.replace(/generation \d+ by process \d+/g, "generation 1 by process 1");
}
