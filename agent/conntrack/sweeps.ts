import type { Family } from "../../api/address.ts";
import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { ConntrackTable } from "../system/conntrack/table.ts";
import { both, type Concern, filterOf } from "./concern.ts";
import { Judge } from "./judge.ts";
import { type Deleted, sweep } from "./sweep.ts";
import type { Targets } from "./targets.ts";

/** A walk through the table that succeeded. */
export interface Swept {
  readonly family: Family;
  /** How the table was reached. */
  readonly by: ConntrackTable["name"];
  readonly seconds: number;
  readonly deleted: readonly Deleted[];
}

/** A way to the table that failed. */
export interface SweepFailure {
  readonly family: Family;
  readonly by: ConntrackTable["name"];
  readonly error: unknown;
  /** False if another way is tried at once; else nothing was cleaned, and it is tried again later. */
  readonly last: boolean;
}

/** Who is told. */
export interface SweepEvents {
  swept(what: Swept): void;
  sweepFailed(what: SweepFailure): void;
}

/** What sweeps are made of. */
export interface SweepOptions {
  readonly family: Family;
  /** Ways to the table, the best first. */
  readonly tables: readonly ConntrackTable[];
  readonly targets: Targets;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: SweepEvents;
}

/**
 * After a sweep that took d milliseconds comes a rest of 9 d, at least 100 ms and at most 5 s: however fast
 * changes come, and however large the table is, a tenth of the time goes into it.
 */
const REST = { factor: 9, min: 100, max: 5_000 } as const;
const RETRY: BackoffBounds = { min: 1_000, max: 300_000 };

/** Sweeps of one family: the first begins at once, one is under way at a time, and what is asked for meanwhile is one. */
export class Sweeps {
  readonly #options: SweepOptions;
  #asked: Concern | undefined;
  #running: Promise<void> | undefined;
  #cancelRest: Cancel | undefined;
  #failures = 0;
  readonly #stop = new AbortController();

  constructor(options: SweepOptions) {
    this.#options = options;
  }

  /** Asks for a sweep of what is concerned. */
  ask(concern: Concern): void {
    this.#asked = both(this.#asked, concern);
    this.#next();
  }

  /** Gives up the sweep that is under way, and begins no other: after a restart everything is looked at. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancelRest?.();
    await this.#running;
  }

  #next(): void {
    const concern = this.#asked;
    if (this.#stop.signal.aborted || concern === undefined) return;
    if (this.#running !== undefined || this.#cancelRest !== undefined) return;
    this.#asked = undefined;
    this.#running = this.#sweep(concern).then((rest) => {
      this.#running = undefined;
      if (this.#stop.signal.aborted) return;
      this.#cancelRest = this.#options.clock.after(rest, () => {
        this.#cancelRest = undefined;
        this.#next();
      });
    });
  }

  /** Returns the milliseconds to rest. */
  async #sweep(concern: Concern): Promise<number> {
    const { family, tables, targets, clock, random, events } = this.#options;
    const began = clock.now();
    // Whatever was given up was asked for in the same breath: this sweep, or one that is still asked for, finds it.
    const former = targets.former();
    const stop = this.#stop.signal;
    for (const [i, table] of tables.entries()) {
      try {
        const filter = filterOf(family, concern);
        const deleted = await sweep(table, filter, new Judge(targets), { stop });
        const took = clock.now() - began;
        targets.forget(former);
        this.#failures = 0;
        events.swept({ family, by: table.name, seconds: took / 1000, deleted });
        return Math.min(REST.max, Math.max(REST.min, took * REST.factor));
      } catch (error) {
        if (stop.aborted) return 0;
        events.sweepFailed({ family, by: table.name, error, last: i === tables.length - 1 });
      }
    }
    this.#asked = both(this.#asked, concern);
    return backoff(++this.#failures, RETRY, random());
  }
}
