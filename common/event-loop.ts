import { setImmediate } from "node:timers/promises";
import type { Clock } from "./clock.ts";

/** Milliseconds of work before a loop yields. Garbage collection, up to 12 ms at a time, comes on top. */
const SLICE_MS = 4;

/** All yielding loops, in a queue: two that continued in the same turn of the event loop would block it twice as long. */
let queue: Promise<void> = Promise.resolve();

/**
 * Cuts a long loop into time slices and yields to the event loop between them, so that probes are answered and events
 * arrive meanwhile. Data that the loop works on may have changed after each `yield`.
 *
 *     const slice = new TimeSlice(clock);
 *     for (const one of many) {
 *       if (slice.expired) await slice.yield();
 *       ...
 *     }
 */
export class TimeSlice {
  readonly #clock: Pick<Clock, "now">;
  #began: number;
  #yielding: Promise<void> | undefined;

  /** The first slice begins now. */
  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
    this.#began = clock.now();
  }

  /** True once the slice is used up, by work or by idle time. */
  get expired(): boolean {
    return this.#clock.now() - this.#began >= SLICE_MS;
  }

  /** Yields to the event loop, and begins the next slice. Concurrent calls share one place in the queue. */
  yield(): Promise<void> {
    this.#yielding ??= this.#enqueue();
    return this.#yielding;
  }

  /** Runs all steps, and yields between two of them when the slice has expired. */
  async run<Result>(steps: Generator<void, Result>): Promise<Result> {
    for (;;) {
      const { done, value } = steps.next();
      // After the last step, too: the caller continues with a new slice.
      if (this.expired) await this.yield();
      if (done === true) return value;
    }
  }

  async #enqueue(): Promise<void> {
    queue = queue.then(() => setImmediate());
    await queue;
    this.#began = this.#clock.now();
    this.#yielding = undefined;
  }
}
