import type { Clock } from "../../common/clock.ts";

/** How a loop rests between two rounds: for a time, or until there is something to do. */
export class Rest {
  readonly #clock: Pick<Clock, "after">;
  #wake: () => void = () => undefined;
  #end: () => void = () => undefined;
  #ended = false;

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  /** Rests for `ms` milliseconds, whoever would wake it. */
  for(ms: number): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#clock.after(ms, resolve);
      this.#end = () => {
        cancel();
        resolve();
      };
    });
  }

  /** Rests until the next `wake`. */
  untilWoken(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#end = resolve;
    });
  }

  /** There is something to do. */
  wake(): void {
    this.#wake();
  }

  /** Ends the rest that is taken, and lets no other begin. */
  end(): void {
    this.#ended = true;
    this.#end();
  }
}
