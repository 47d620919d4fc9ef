import { setTimeout as sleep } from "node:timers/promises";
import type { Harm } from "./backends.ts";
import type { Contestant } from "./contestant.ts";

const REPAIRS = "clusterset_agent_drift_repairs_total";
/** Milliseconds between two looks. */
const STEP = 50;
/** Milliseconds after which a repair counts as missing. */
const PATIENCE = 300_000;

/** Does one harm, and returns the milliseconds until the agent has repaired it; NaN if it does not. */
export async function harmAndRepair(agent: Contestant, harm: Harm): Promise<number> {
  const repairs = async () => (await agent.metrics?.([REPAIRS]))?.[0] ?? Number.NaN;
  const before = await repairs();
  await agent.node.exec(["sh", "-c", harm.command]);
  const began = performance.now();
  while (performance.now() - began < PATIENCE) {
    if ((await repairs()) > before) return performance.now() - began;
    await sleep(STEP);
  }
  return Number.NaN;
}
