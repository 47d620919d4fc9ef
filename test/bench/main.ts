/**
 * The benchmark: what agent and controller cost, beside the plainest way to do the same and beside kube-proxy, in one run.
 * Prints Markdown and asserts nothing. In the environment: SIZE, the largest number of services (10000), and QUICK=1.
 * Arguments: --part NAME to measure only that (may be repeated), --write to put the tables into docs/BENCHMARKS.md, in
 * place of what they measure anew.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FLAVOURS } from "../../agent/backends/iptables/flavour.ts";
import { agentRows } from "./agent-rows.ts";
import { type Agent, agents } from "./agents.ts";
import { measured as measuredControllers } from "./controller/measure.ts";
import { controllerRows } from "./controller/rows.ts";
import { firstPacket } from "./first-packet.ts";
import { syncsInGuest } from "./guest/measured.ts";
import { guestRows } from "./guest/rows.ts";
import { kubeProxies } from "./kube-proxies.ts";
import { commandOf, type Options, optionsOf, type Part } from "./options.ts";
import { load, machine, type Run, reportOf, write } from "./page.ts";
import { withSections } from "./partial.ts";
import { rivalRows } from "./rival-rows.ts";
import { source } from "./source.ts";
import type { Section } from "./table.ts";
import { withoutAgent } from "./without-agent.ts";

if (process.getuid?.() !== 0) {
  console.error("the benchmark makes network namespaces: run it as root");
  process.exit(1);
}
const options = optionsOf(process.argv.slice(2), process.env);
const began = performance.now();
const loadBefore = load();
try {
  const sections = await measured(options);
  const run: Run = {
    date: new Date(),
    command: commandOf(options),
    machine: machine(),
    minutes: (performance.now() - began) / 60_000,
    load: [loadBefore, load()],
  };
  const report = reportOf(run, sections);
  console.log(report);
  if (options.write)
    write((before) => (options.whole ? report : withSections(before, run, sections)));
} catch (error) {
  // Ctrl-C ends all that runs in the lab, and then this process: what was cut short by it is no news.
  await sleep(2_000);
  console.error(error);
  process.exitCode = 1;
}

async function measured(options: Options): Promise<Section[]> {
  const has = (part: Part) => options.parts.includes(part);
  const sections: Section[] = [];
  const ours: Agent[] = [];
  for (const flavour of has("kernel") ? FLAVOURS : []) {
    say(`facts to kernel: iptables-${flavour}`);
    const rows = await withoutAgent(flavour, options);
    sections.push({ title: `Facts to kernel, in one process: iptables-${flavour}`, rows });
  }
  for (const flavour of has("packets") ? FLAVOURS : []) {
    say(`first packets: iptables-${flavour}`);
    const rows = await firstPacket(flavour, options);
    sections.push({ title: `First packets: iptables-${flavour}`, rows });
  }
  if (has("api-server") || has("kube-proxy")) {
    const result = await agents(options, say);
    ours.push(...result.agents);
    for (const agent of ours) {
      const title = `A real API server to connections: iptables-${agent.flavour}`;
      sections.push({ title, rows: agentRows(agent) });
    }
    sections.push({ title: "What the API server needs to be loaded", rows: result.loads });
  }
  for (const rival of has("kube-proxy") ? await kubeProxies(options, say) : []) {
    const flavour = rival.mode === "iptables-legacy" ? "legacy" : "nft";
    for (const agent of ours.filter((one) => one.flavour === flavour)) {
      const title = `Beside kube-proxy in ${rival.mode} mode: iptables-${flavour}`;
      sections.push({ title, rows: rivalRows(agent, rival) });
    }
  }
  if (has("source")) {
    say("API server to facts");
    const rows = await source({ services: 10_000, endpoints: 100 });
    sections.push({ title: "Reading an API server", rows });
  }
  if (has("controller")) {
    const rows = controllerRows(await measuredControllers(options, say));
    sections.push({ title: "The controller: from cluster to cluster", rows });
  }
  if (has("ipvs")) {
    say("in a virtual machine: IPVS beside iptables");
    const rows = guestRows(await syncsInGuest());
    sections.push({ title: "In a virtual machine, emulated: IPVS beside iptables-nft", rows });
  }
  return sections;
}

function say(what: string): void {
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  console.error(`${seconds.padStart(4)} s  ${what} …`);
}
