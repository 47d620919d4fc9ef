/**
 * The benchmark: what the agent costs, beside the plainest way to do the same, in one run. Prints a table and
 * asserts nothing. SIZE in the environment is the number of services (default 1000), ten endpoints each.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FLAVOURS, type Flavour } from "../../agent/backends/iptables/flavour.ts";
import { count } from "./figures.ts";
import { firstPacket } from "./first-packet.ts";
import type { Size } from "./services.ts";
import { source } from "./source.ts";
import { type Row, type Section, tableOf } from "./table.ts";
import { withAgent } from "./with-agent.ts";
import { withoutAgent } from "./without-agent.ts";

/** In this order under each flavour. */
const PARTS = {
  "facts to kernel": withoutAgent,
  "files to answers": withAgent,
  "first packets": firstPacket,
};

if (process.getuid?.() !== 0) {
  console.error("the benchmark makes network namespaces: run it as root");
  process.exit(1);
}
const size: Size = { services: sizeOf(process.env.SIZE ?? "1000"), endpoints: 10 };
const loaded = `${count(size.services)} services x ${size.endpoints} endpoints`;
const began = performance.now();
try {
  const sections: Section[] = [];
  for (const flavour of FLAVOURS) sections.push(await measured(flavour));
  console.error("API server to facts …");
  const large: Size = { services: 10_000, endpoints: 100 };
  sections.push({ title: "An API server as the source", rows: await source(large) });
  console.log(tableOf(sections));
  console.log(`\n${((performance.now() - began) / 1000).toFixed(0)} s in all`);
} catch (error) {
  // Ctrl-C ends all that runs in the lab, and then this process: what was cut short by it is no news.
  await sleep(2_000);
  console.error(error);
  process.exitCode = 1;
}

async function measured(flavour: Flavour): Promise<Section> {
  const rows: Row[] = [];
  for (const [name, part] of Object.entries(PARTS)) {
    console.error(`${flavour}: ${name} …`);
    rows.push(...(await part(flavour, size)));
  }
  return { title: `iptables-${flavour}, ${loaded}`, rows };
}

function sizeOf(text: string): number {
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  console.error(`SIZE=${text}: expected a number of services from 1 to 99999`);
  process.exit(1);
}
