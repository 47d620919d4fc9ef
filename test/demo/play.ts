import { setTimeout as sleep } from "node:timers/promises";
import { now } from "./attempt.ts";
import type { Stage } from "./stage.ts";
import { hasSettled, judge, type Verdict } from "./verdict.ts";

/** One act: what is changed, and where every new connection must come to because of it. */
export interface Step {
  readonly title: string;
  /** Clusters to scale, one after the other: to nothing, or back up. The last one is timed. */
  readonly scale: readonly (readonly [cluster: string, up: boolean])[];
  /** A cluster, or `refused`. */
  readonly wanted: string;
  /** Open a connection then that stays for the rest. */
  readonly hold?: boolean;
  /** Before anything is changed, close what is held: its servers are about to stop. */
  readonly release?: boolean;
}

export const STEPS: readonly Step[] = [
  { title: "all clusters serve", scale: [], wanted: "c1" },
  { title: "c1 scaled to nothing", scale: [["c1", false]], wanted: "c2" },
  { title: "c2 scaled to nothing", scale: [["c2", false]], wanted: "c3", hold: true },
  { title: "c2 is back", scale: [["c2", true]], wanted: "c2", hold: true },
  { title: "c1 is back", scale: [["c1", true]], wanted: "c1" },
  {
    title: "all scaled to nothing",
    // Home last: connections then have no other way to take in between.
    scale: [
      ["c3", false],
      ["c2", false],
      ["c1", false],
    ],
    wanted: "refused",
    release: true,
  },
];

/** What became of a step. */
export interface Played {
  readonly step: Step;
  readonly verdict: Verdict;
  readonly rules: readonly string[];
  /** Why the step is not what it should be; empty if it is. */
  readonly faults: readonly string[];
}

/** Attempts in a row at the wanted place that make a switch done. */
const SETTLED = 20;
/** Ms that a switch may take before it has failed. */
const PATIENCE = 5_000;
/** Ms that a step lasts, so that a person can follow. */
const LENGTH = 3_300;

/** Plays one step to its end. `onRules` is told the rules as soon as connections have followed them. */
export async function play(
  stage: Stage,
  step: Step,
  onRules: (rules: readonly string[]) => void,
): Promise<Played> {
  const began = now();
  const from = stage.attempts.length;
  const heldFaults = step.release === true ? await releaseHeld(stage) : [];
  let changed = began;
  const rests: Promise<void>[] = [];
  for (const [cluster, up] of step.scale) {
    const done = await stage.scale(cluster, up);
    changed = done.changed;
    rests.push(done.rest);
  }
  const attempts = () => stage.attempts.slice(from);
  while (!hasSettled(attempts(), step.wanted, SETTLED) && now() - changed < PATIENCE) {
    await stage.checkAgent();
    await sleep(10);
  }
  const faults: string[] = [];
  if (!hasSettled(attempts(), step.wanted, SETTLED)) {
    faults.push(`connections had not come to ${step.wanted} after ${PATIENCE} ms`);
  }
  const rules = await stage.rules();
  onRules(rules);
  if (step.hold === true) await stage.hold();
  await Promise.all(rests);
  await sleep(Math.max(0, began + LENGTH - now()));
  await stage.checkAgent();
  const verdict = judge(attempts(), changed, step.wanted);
  for (const [word, count] of Object.entries(verdict.failures)) {
    faults.push(`${count} of ${verdict.attempts} connections failed: ${word}`);
  }
  return { step, verdict, rules, faults: [...heldFaults, ...faults] };
}

/** Closes the held connections; gives what is wrong with them. */
async function releaseHeld(stage: Stage): Promise<string[]> {
  await Promise.all(stage.held.map((one) => one.close()));
  return stage.held.flatMap(({ name, fault }) =>
    fault === undefined ? [] : [`the connection held to ${name} broke: ${fault}`],
  );
}
