import { setTimeout as sleep } from "node:timers/promises";
import { now } from "../test/connections/connections.ts";
import { eventually } from "../test/stages/agent-process.ts";
import type { Client } from "./client.ts";
import type { Contestant } from "./contestant.ts";
import type { Change } from "./followed.ts";
import type { Stage } from "./stage.ts";
import { type Spent, spending } from "./usage.ts";

/** Changes a second, and which of them are of the service that the client calls. */
const RATE = 100;
const LIVE_EVERY = 10;
const PATIENCE = 60_000;
const SYNCS = "clusterset_agent_sync_duration_seconds_count";

/** What became of 100 changes a second. */
export interface Storm {
  readonly changes: number;
  readonly seconds: number;
  /** Milliseconds from the acknowledgement of each that the client could see to the first connection that followed. */
  readonly firsts: readonly number[];
  /** Transactions, by the agent's metric. undefined for others. */
  readonly transactions: number | undefined;
  /** Processor time of the contestant meanwhile. */
  readonly spent: Spent;
  /** Endpoints that are in the kernel and should not, or are not and should. undefined if rules cannot be read. */
  readonly lost: number | undefined;
}

/** 100 changes a second for so long, a tenth of them of the service that the client calls. */
export async function storm(
  stage: Stage,
  contestant: Contestant,
  client: Client,
  seconds: number,
): Promise<Storm> {
  const before = await contestant.metrics?.([SYNCS]);
  const spent = spending(contestant.node);
  const began = now();
  const moves: Promise<Change>[] = [];
  // One after the other: two requests at once may arrive in another order.
  let latest: Promise<unknown> = Promise.resolve();
  const others: Promise<void>[] = [];
  const total = seconds * RATE;
  for (let i = 0; i < total; i++) {
    // Each has its moment by the clock: a late timer does not lower the rate.
    await sleep(Math.max(0, began + (i * 1_000) / RATE - now()));
    if (i % LIVE_EVERY === 0) {
      const move = latest.then(() => stage.move());
      latest = move;
      moves.push(move);
    } else {
      // A prime step, so that neighbours in the list are not changed one after the other.
      others.push(stage.alter(i * 7_919));
    }
  }
  const changes = await Promise.all(moves);
  await Promise.all(others);
  const took = (now() - began) / 1_000;
  await client.until(stage.place, PATIENCE);
  const processor = spent();
  // Before the check, which may take a minute: attempts are not kept that long.
  const firsts = client.followed(changes).map(({ first }) => first);
  const lost = await lostOf(stage, contestant);
  const after = await contestant.metrics?.([SYNCS]);
  return {
    changes: total,
    seconds: took,
    firsts,
    transactions:
      before?.[0] === undefined || after?.[0] === undefined ? undefined : after[0] - before[0],
    spent: processor,
    lost,
  };
}

/** Waits a while for the last change to arrive, and counts what is not as it was written. */
async function lostOf(stage: Stage, { node, listing }: Contestant): Promise<number | undefined> {
  if (listing === undefined) return undefined;
  const wrong = async () => {
    const listed = await node.exec(listing.command);
    const inKernel = new Set([...listed.matchAll(listing.endpoint)].map(([, one]) => one));
    return stage.altered.filter(({ address, ready }) => inKernel.has(address) !== ready).length;
  };
  // Those that are wrong for good are what is counted.
  await eventually(async () => {
    if ((await wrong()) > 0) throw new Error("not yet");
  }).catch(() => undefined);
  return wrong();
}
