import { setTimeout as sleep } from "node:timers/promises";
import { now } from "../test/connections/connections.ts";
import type { Stage } from "./stage.ts";
import { isSlow, type Step } from "./steps.ts";
import { hasSettled, judge, type Verdict } from "./verdict.ts";

/** What became of a step. */
export interface Played {
  readonly step: Step;
  readonly verdict: Verdict;
  readonly rules: readonly string[];
  /** Why the step is not what it should be; empty if it is. */
  readonly faults: readonly string[];
}

/** Consecutive attempts at the expected server that end a failover. */
const SETTLED = 20;
/** Ms that a switch may take before it has failed; and if a cluster has to be missed, or to boot. */
const PATIENCE = 5_000;
const LONG_PATIENCE = 30_000;
/** Ms that a step lasts at least, so that a person can follow. */
const LENGTH = 3_300;

/** Runs one step to its end. Calls `onRules` with the rules as soon as connections follow them. */
export async function play(
  stage: Stage,
  step: Step,
  onRules: (rules: readonly string[]) => void,
): Promise<Played> {
  const began = now();
  const from = stage.attempts.length;
  const heldFaults = step.release === true ? await stage.release() : [];
  let changed = began;
  const rests: Promise<void>[] = [];
  for (const [cluster, act] of step.acts) {
    const done = await stage.act(cluster, act);
    changed = done.changed;
    rests.push(done.rest);
  }
  const patience = isSlow(step) ? LONG_PATIENCE : PATIENCE;
  const attempts = () => stage.attempts.slice(from);
  while (!hasSettled(attempts(), step.wanted, SETTLED) && now() - changed < patience) {
    await stage.checkProgram();
    await sleep(10);
  }
  const faults: string[] = [];
  if (!hasSettled(attempts(), step.wanted, SETTLED)) {
    faults.push(`connections had not come to ${step.wanted} after ${patience} ms`);
  }
  const rules = await stage.rules();
  onRules(rules);
  if (step.hold === true) await stage.hold();
  await Promise.all(rests);
  await sleep(Math.max(0, began + LENGTH - now()));
  await stage.checkProgram();
  const verdict = judge(attempts(), changed, step.wanted, stage.died);
  for (const [word, count] of Object.entries(verdict.failures)) {
    faults.push(`${count} of ${verdict.attempts} connections failed: ${word}`);
  }
  return { step, verdict, rules, faults: [...heldFaults, ...faults] };
}
