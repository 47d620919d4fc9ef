/**
 * The benchmark: what agent and controller cost, beside the plainest way to do the same and beside kube-proxy, in one run.
 * Prints Markdown and asserts nothing. In the environment: SIZE, the largest number of services (10000), and QUICK=1.
 * Arguments: --part NAME and --backend NAME to measure only these (may be repeated), --write to put the tables into
 * docs/BENCHMARKS.md, in place of what they measure anew.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { agentRows } from "./agent-rows.ts";
import { type Agent, agents } from "./agents.ts";
import { changeLines } from "./change-lines.ts";
import { measured as measuredControllers } from "./controller/measure.ts";
import { controllerRows } from "./controller/rows.ts";
import { deaths } from "./deaths.ts";
import { firstPacket } from "./first-packet.ts";
import { syncsInGuest } from "./guest/measured.ts";
import { guestRows } from "./guest/rows.ts";
import { kernelRows } from "./kernel-rows.ts";
import { kubeProxies, type Rival } from "./kube-proxies.ts";
import { commandOf, type Options, optionsOf, type Part } from "./options.ts";
import { load, machine, type Run, reportOf, sourceCode, write, writePicture } from "./page.ts";
import { withSections } from "./partial.ts";
import type { Line } from "./picture.ts";
import { rivalRows } from "./rival-rows.ts";
import { source } from "./source.ts";
import type { Section } from "./table.ts";

if (process.getuid?.() !== 0) {
  console.error("the benchmark makes network namespaces: run it as root");
  process.exit(1);
}
const options = optionsOf(process.argv.slice(2), process.env);
const began = performance.now();
const [code, loadBefore] = [sourceCode(), load()];
try {
  const { sections, lines } = await measured(options);
  const run: Run = {
    date: new Date(),
    ...{ code, command: commandOf(options) },
    machine: machine(),
    minutes: (performance.now() - began) / 60_000,
    load: [loadBefore, load()],
  };
  const report = reportOf(run, sections);
  console.log(report);
  if (options.write) {
    write((before) => (options.whole ? report : withSections(before, run, sections)));
    if (lines !== undefined) writePicture(lines, run);
  }
} catch (error) {
  // Ctrl-C ends all that runs in the lab, and then this process: what was cut short by it is no news.
  await sleep(2_000);
  console.error(error);
  process.exitCode = 1;
}

interface Results {
  readonly sections: Section[];
  /** undefined if not all of them were measured. */
  readonly lines: Line[] | undefined;
}

async function measured(options: Options): Promise<Results> {
  const has = (part: Part) => options.parts.includes(part);
  const sections: Section[] = [];
  const ours: Agent[] = [];
  const { backends } = options;
  for (const backend of has("kernel") ? backends : []) {
    say(`facts to kernel: ${backend.title}`);
    const rows = await kernelRows(backend, options);
    sections.push({ title: `Facts to kernel, in one process: ${backend.title}`, rows });
  }
  for (const backend of has("packets") ? backends : []) {
    say(`first packets: ${backend.title}`);
    const rows = await firstPacket(backend, options);
    sections.push({ title: `First packets: ${backend.title}`, rows });
  }
  if (has("api-server") || has("kube-proxy")) {
    const result = await agents(options, say);
    ours.push(...result.agents);
    for (const agent of ours) {
      const title = `A real API server to connections: ${agent.backend.title}`;
      sections.push({ title, rows: agentRows(agent) });
    }
    sections.push({ title: "What the API server needs to be loaded", rows: result.loads });
  }
  const rivals = has("kube-proxy") ? await kubeProxies(options, say) : [];
  for (const rival of rivals) {
    for (const agent of ours.filter((one) => isBeside(one, rival))) {
      const title = `Beside kube-proxy in ${rival.mode} mode: ${agent.backend.title}`;
      sections.push({ title, rows: rivalRows(agent, rival) });
    }
  }
  // The default backend alone: detecting does not depend on it, and twenty deaths take minutes.
  for (const backend of has("deaths") ? backends.slice(0, 1) : []) {
    const rows = await deaths(backend, options, say);
    sections.push({ title: `A cluster dies: ${backend.title}`, rows });
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
  return { sections, lines: changeLines(ours, rivals) };
}

/** Each flavour of iptables beside the same, and nftables beside both of kube-proxy's that use it. */
function isBeside({ backend }: Agent, { mode }: Rival): boolean {
  return (
    backend.title === mode ||
    ((mode === "nftables" ? "iptables-nft" : "nftables") === backend.title &&
      mode !== "iptables-legacy")
  );
}

function say(what: string): void {
  const seconds = ((performance.now() - began) / 1_000).toFixed(0);
  console.error(`${seconds.padStart(4)} s  ${what} …`);
}
