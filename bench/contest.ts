import { setTimeout as sleep } from "node:timers/promises";
import { now } from "../test/connections/connections.ts";
import { eventually } from "../test/stages/agent-process.ts";
import type { Client } from "./client.ts";
import type { Contestant } from "./contestant.ts";
import { type Flips, flips } from "./flips.ts";
import type { Change, Followed } from "./followed.ts";
import type { Effort } from "./options.ts";
import type { Stage } from "./stage.ts";
import { type Storm, storm } from "./storm.ts";
import { usageOf, waitedForProcessor } from "./usage.ts";

/** The longest that a change may take. */
const PATIENCE = 60_000;
/** The longest that a start may take. */
const COLD_PATIENCE = 240_000;
const PROGRAMMING = "clusterset_agent_network_programming_duration_seconds";

/** One change that was alone. Times in milliseconds from its acknowledgement. */
export interface Alone extends Followed {
  /** Until a watch received it. */
  readonly told: number;
  /** From its arrival at the agent until it was programmed, by the agent's metric. undefined for others. */
  readonly programmed: number | undefined;
  /** What its main thread waited for a processor, from before the change was written until the first connection followed. */
  readonly waited: number;
}

/** What was measured of one contestant with so many services. */
export interface Measured {
  readonly services: number;
  /** From its start, over rules of no other services, until its client was answered. NaN if it ran already. */
  readonly cold: number;
  readonly alone: readonly Alone[];
  /** By place in a series of three in a second: until the first connection followed. */
  readonly series: readonly (readonly number[])[];
  /** undefined with one service: there is nothing else to change. */
  readonly storm: Storm | undefined;
  /** undefined if that was not measured. */
  readonly flips: Flips | undefined;
  /** Megabytes: its own, and those of what it has started. */
  readonly resident: readonly [number, number];
  /** Connections of the client after the first rules were programmed, and those without a response. */
  readonly connections: { readonly made: number; readonly failed: ReadonlyMap<string, number> };
}

/** Starts it, unless it runs already; lets things change, stops it; the rules stay. */
export async function contest(
  stage: Stage,
  contestant: Contestant,
  client: Client,
  services: number,
  effort: Effort,
  isRunning = false,
): Promise<Measured> {
  const began = performance.now();
  // One that runs may still be behind: its first change is not measured.
  if (isRunning) await stage.move();
  else await contestant.start();
  await client.until(stage.place, COLD_PATIENCE);
  const cold = isRunning ? Number.NaN : performance.now() - began;
  client.forgive();
  const alone: Alone[] = [];
  for (let round = 0; round < effort.changes; round++)
    alone.push(await oneChange(stage, contestant, client));
  const series: number[][] = [[], [], []];
  for (let round = 0; round < effort.series; round++) {
    const firsts = await threeChanges(stage, contestant, client);
    for (const [i, first] of firsts.entries()) series[i]?.push(first);
  }
  const storms = services > 1 && effort.stormSeconds > 0;
  const stormy = storms ? await storm(stage, contestant, client, effort.stormSeconds) : undefined;
  const flipped =
    effort.flipSeconds > 0 ? await flips(stage, contestant.name, effort.flipSeconds) : undefined;
  await client.until(stage.place, PATIENCE);
  const { main, children } = usageOf(contestant.node);
  const connections = { made: client.made, failed: new Map(client.failures) };
  await contestant.stop();
  return {
    services,
    cold,
    alone,
    series,
    storm: stormy,
    flips: flipped,
    resident: [main.megabytes, children.megabytes],
    connections,
  };
}

async function oneChange(stage: Stage, contestant: Contestant, client: Client): Promise<Alone> {
  const before = await programming(contestant);
  await sleep(contestant.rest + Math.random() * 10);
  stage.sightings.take();
  const { pid } = usageOf(contestant.node).main;
  const waited = waitedForProcessor(pid);
  client.hurry();
  const change = await stage.move();
  await client.until(change.place, PATIENCE);
  const [one] = client.followed([change]);
  const waitedSince = waitedForProcessor(pid) - waited;
  const seen = stage.sightings.take() ?? change.acknowledged;
  const programmed = before && (await programmedSince(contestant, before));
  if (one === undefined) throw new Error("a change was not followed");
  return { ...one, told: Math.max(0, seen - change.acknowledged), programmed, waited: waitedSince };
}

async function threeChanges(stage: Stage, contestant: Contestant, client: Client) {
  await sleep(Math.max(contestant.rest, 1_000));
  const began = now();
  const changes: Change[] = [];
  for (let i = 0; i < 3; i++) {
    await sleep(Math.max(0, began + (i * 1_000) / 3 - now()));
    client.hurry();
    changes.push(await stage.move());
  }
  await client.until(stage.place, PATIENCE);
  return client.followed(changes).map(({ first }) => first);
}

/** The agent's metric from arrival to programming: seconds of all changes so far, and their number. */
interface Programming {
  readonly sum: number;
  readonly count: number;
}

/** undefined without such a metric. */
async function programming({ metrics }: Contestant): Promise<Programming | undefined> {
  const [sum, count] = (await metrics?.([`${PROGRAMMING}_sum`, `${PROGRAMMING}_count`])) ?? [];
  return sum === undefined || count === undefined ? undefined : { sum, count };
}

/** Waits until the metric has the next change, which is after connections have followed it; returns its milliseconds. */
async function programmedSince(contestant: Contestant, before: Programming): Promise<number> {
  return eventually(async () => {
    const after = await programming(contestant);
    if (after === undefined || after.count === before.count) throw new Error("no change was said");
    return ((after.sum - before.sum) / (after.count - before.count)) * 1_000;
  });
}
