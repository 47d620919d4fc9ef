import type { Family } from "../../api/address.ts";
import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { ConntrackTable } from "../system/conntrack/table.ts";
import { type DeletedEntries, deleteStaleEntries } from "./delete-stale-entries.ts";
import type { ProgrammedState } from "./programmed-state.ts";
import { filterOf, mergeScopes, type ScanScope } from "./scan-scope.ts";
import { StaleCheck } from "./stale-check.ts";

/** A cleanup that succeeded. */
export interface CleanupResult {
  readonly family: Family;
  readonly by: ConntrackTable["name"];
  readonly seconds: number;
  readonly deleted: readonly DeletedEntries[];
}

/** An access method that failed. */
export interface CleanupFailure {
  readonly family: Family;
  readonly by: ConntrackTable["name"];
  readonly error: unknown;
  /** False if another access method is tried at once; true if the cleanup failed and is retried later. */
  readonly last: boolean;
}

/** Receives the outcome of cleanups. */
export interface CleanupEvents {
  cleanedUp(result: CleanupResult): void;
  cleanupFailed(failure: CleanupFailure): void;
}

/** What cleanups need. */
export interface CleanupOptions {
  readonly family: Family;
  /** Access methods to the kernel's table, in order of preference. */
  readonly tables: readonly ConntrackTable[];
  readonly state: ProgrammedState;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: CleanupEvents;
}

/** The pause after a cleanup is nine times its duration, within these bounds (ms): cleanups take a tenth of the time at most. */
const PAUSE = { factor: 9, min: 100, max: 5_000 } as const;
const RETRY: BackoffBounds = { min: 1_000, max: 300_000 };

/** Runs one cleanup of a family at a time; requests that arrive meanwhile are merged into the next one. */
export class CleanupSchedule {
  readonly #options: CleanupOptions;
  #requested: ScanScope | undefined;
  #isUrgent = false;
  #running: Promise<void> | undefined;
  #cancelPause: Cancel | undefined;
  #failures = 0;
  readonly #stop = new AbortController();

  constructor(options: CleanupOptions) {
    this.#options = options;
  }

  /**
   * Requests a cleanup, which starts at once unless one is running or has just ended. `isUrgent`: clients wait for it, so it does not wait
   * for the pause; requests of that kind are rare.
   */
  request(scope: ScanScope, isUrgent = false): void {
    this.#requested = mergeScopes(this.#requested, scope);
    this.#isUrgent ||= isUrgent;
    this.#next();
  }

  /** Cancels the cleanup under way and starts no other: after a restart, the first pass scans everything. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancelPause?.();
    await this.#running;
  }

  /** False after a failure: nothing would be better at once. */
  get #isPressing(): boolean {
    return this.#isUrgent && this.#failures === 0;
  }

  #next(): void {
    const scope = this.#requested;
    if (this.#stop.signal.aborted || scope === undefined || this.#running !== undefined) return;
    if (this.#cancelPause !== undefined && !this.#isPressing) return;
    this.#cancelPause?.();
    this.#cancelPause = undefined;
    this.#requested = undefined;
    this.#isUrgent = false;
    this.#running = this.#run(scope).then((pause) => {
      this.#running = undefined;
      if (this.#stop.signal.aborted) return;
      if (this.#isPressing) return this.#next();
      this.#cancelPause = this.#options.clock.after(pause, () => {
        this.#cancelPause = undefined;
        this.#next();
      });
    });
  }

  /** Returns the pause in milliseconds. */
  async #run(scope: ScanScope): Promise<number> {
    const { family, tables, state, clock, random, events } = this.#options;
    const began = clock.now();
    // Each release came with a request, which this cleanup or a later one serves.
    const released = state.released();
    const stop = this.#stop.signal;
    for (const [i, table] of tables.entries()) {
      try {
        const filter = filterOf(family, scope);
        const deleted = await deleteStaleEntries(table, filter, new StaleCheck(state), stop);
        const took = clock.now() - began;
        state.forget(released);
        this.#failures = 0;
        events.cleanedUp({ family, by: table.name, seconds: took / 1000, deleted });
        return Math.min(PAUSE.max, Math.max(PAUSE.min, took * PAUSE.factor));
      } catch (error) {
        if (stop.aborted) return 0;
        events.cleanupFailed({ family, by: table.name, error, last: i === tables.length - 1 });
      }
    }
    this.#requested = mergeScopes(this.#requested, scope);
    return backoff(++this.#failures, RETRY, random());
  }
}
