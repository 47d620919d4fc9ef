import { setImmediate } from "node:timers/promises";
import type { Clock } from "../clock.ts";

/**
 * Milliseconds of work after which others get their turn: four reflectors that are all busy at once hold the
 * event loop for 20 ms.
 */
const BUDGET_MS = 5;

/** One reflector's share of the event loop. */
export class Turn {
  readonly #clock: Clock;
  #began = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True if it is time to `pass`; before the first time, too. */
  get over(): boolean {
    return this.#clock.now() - this.#began >= BUDGET_MS;
  }

  /** Lets others work. */
  async pass(): Promise<void> {
    await setImmediate();
    this.#began = this.#clock.now();
  }
}
