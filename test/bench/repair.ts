import { setTimeout as sleep } from "node:timers/promises";
import type { Flavour } from "../../agent/backends/iptables/flavour.ts";
import type { Contestant } from "./contestant.ts";

const REPAIRS = "clusterset_agent_drift_repairs_total";
/** Milliseconds between two looks. */
const STEP = 50;
/** Milliseconds after which a repair counts as missing. */
const PATIENCE = 300_000;

/** Flushes the chain of one service, and returns the milliseconds until the agent has repaired it; NaN if it does not. */
export async function flushAndRepair(agent: Contestant, flavour: Flavour): Promise<number> {
  const repairs = async () => (await agent.metrics?.([REPAIRS]))?.[0] ?? Number.NaN;
  const before = await repairs();
  const save = `iptables-${flavour}-save -t nat`;
  const chain = "s/^:\\(CSP-SVC-[^ ]*\\).*/*nat\\n:\\1 - [0:0]\\nCOMMIT/p";
  const flush = `${save} | sed -n '${chain}' | head -n 3 | iptables-${flavour}-restore --noflush -w`;
  await agent.node.exec(["sh", "-c", flush]);
  const began = performance.now();
  while (performance.now() - began < PATIENCE) {
    if ((await repairs()) > before) return performance.now() - began;
    await sleep(STEP);
  }
  return Number.NaN;
}
