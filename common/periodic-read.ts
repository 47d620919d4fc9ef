import { isDeepStrictEqual } from "node:util";
import type { Clock } from "./clock.ts";
import { sleep } from "./clock.ts";

/** What fails in many ways reports no more of them. */
const MOST_CAUSES = 5;

/** Options of a `PeriodicRead`. */
export interface PeriodicReadOptions<Value> {
  readonly clock: Clock;
  /** Milliseconds between two reads. */
  readonly every: number;
  /** The same after a failure. */
  readonly retry: number;
  readonly read: (signal: AbortSignal) => Promise<Value>;
  /** Called for each of consecutive failures that has another message than those before, `MOST_CAUSES` times at most. */
  readonly failed?: (error: unknown) => void;
  /** Called for the first success after failures. */
  readonly recovered?: () => void;
}

/** Reads a value periodically, and reports its changes. After a failure, the last value stays. */
export class PeriodicRead<Value> {
  readonly #options: PeriodicReadOptions<Value>;
  readonly #stop = new AbortController();
  #latest: Value | undefined;
  /** Messages of the failures since the last success. */
  readonly #causes = new Set<string>();
  #running: Promise<void> | undefined;

  constructor(options: PeriodicReadOptions<Value>) {
    this.#options = options;
  }

  /** The last known value; undefined before the first. */
  get latest(): Value | undefined {
    return this.#latest;
  }

  /** Starts the first read. `changed`: called with each different value; `first`: there was none before. */
  start(changed: (value: Value, first: boolean) => void): void {
    this.#running = this.#run(changed);
  }

  /** Ends the current read; no other follows. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(changed: (value: Value, first: boolean) => void): Promise<void> {
    const { clock, every, retry } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const value = await this.#read(signal);
      if (signal.aborted) return;
      if (value !== undefined && !isDeepStrictEqual(value, this.#latest)) {
        const first = this.#latest === undefined;
        this.#latest = value;
        changed(value, first);
      }
      await sleep(clock, this.#causes.size === 0 ? every : retry, signal);
    }
  }

  /** Undefined after a failure. */
  async #read(signal: AbortSignal): Promise<Value | undefined> {
    const { read, failed, recovered } = this.#options;
    try {
      const value = await read(signal);
      if (this.#causes.size > 0) recovered?.();
      this.#causes.clear();
      return value;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (this.#causes.has(message) || this.#causes.size >= MOST_CAUSES) return undefined;
      this.#causes.add(message);
      if (!signal.aborted) failed?.(error);
      return undefined;
    }
  }
}
