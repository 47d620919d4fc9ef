import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Clock } from "../../common/clock.ts";
import { sleep } from "../../common/clock.ts";
import type { NodeFact } from "../model/facts.ts";
import type { MemberCount, MemberCounts, TrafficEvents } from "./traffic-table.ts";

/** What the counter needs. */
export interface TrafficCounterOptions {
  readonly table: MemberCounts;
  /** The node as it is now; undefined until it was listed. */
  readonly node: () => NodeFact | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: TrafficEvents;
}

/** Milliseconds between two checks of the rules, and after failures. */
const CHECK_MS = 5_000;
const RETRY: BackoffBounds = { min: 5_000, max: 300_000 };
/** Milliseconds between two looks whether the node was listed. */
const LISTED_MS = 500;

/** Keeps the rules in place that count connections by cluster. Nothing depends on them: connections are forwarded in any case. */
export class TrafficCounter {
  readonly #options: TrafficCounterOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #failures = 0;

  constructor(options: TrafficCounterOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** The kernel keeps the rules, and counts on. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Connections by cluster, read now; none while they cannot be read. */
  counts(): Promise<readonly MemberCount[]> {
    // The next check reports what lasts.
    return this.#options.table.counts().catch(() => []);
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) await sleep(clock, await this.#check(), signal);
  }

  /** Returns the milliseconds until the next check. */
  async #check(): Promise<number> {
    const { table, node, random, events } = this.#options;
    const now = node();
    if (now === undefined) return LISTED_MS;
    try {
      await table.install(now, this.#stop.signal);
      await table.counts();
      this.#failures = 0;
      events.unavailable(undefined);
      return CHECK_MS;
    } catch (error) {
      // A program that was stopped with the agent says nothing.
      if (!this.#stop.signal.aborted) events.unavailable(error);
      return backoff(++this.#failures, RETRY, random());
    }
  }
}
