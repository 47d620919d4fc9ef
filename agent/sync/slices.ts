import type { Clock } from "../../common/clock.ts";

/** Milliseconds of work after which a loop lets the event loop turn: nobody waits much longer than this. */
const SLICE = 8;

/**
 * Cuts a long loop into slices, so that probes are answered and facts taken in between. What the loop works on
 * may have changed after each `pause`.
 *
 *     for (const one of many) {
 *       if (slices.due) await slices.pause();
 *       ...
 *     }
 */
export class Slices {
  readonly #clock: Pick<Clock, "now">;
  #began: number;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
    this.#began = clock.now();
  }

  /** True if the slice is used up. */
  get due(): boolean {
    return this.#clock.now() - this.#began >= SLICE;
  }

  /** Lets everything else that is ready run, and begins the next slice. */
  async pause(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#began = this.#clock.now();
  }

  /** Goes through steps, in as many slices as it takes. */
  async through<Result>(steps: Generator<void, Result>): Promise<Result> {
    for (;;) {
      const { done, value } = steps.next();
      // After the last step, too: whoever goes on with the result begins a slice of its own.
      if (this.due) await this.pause();
      if (done === true) return value;
    }
  }
}
