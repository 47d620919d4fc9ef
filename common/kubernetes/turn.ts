import { setImmediate } from "node:timers/promises";
import type { Clock } from "../clock.ts";

/** Milliseconds of work after which others get their turn. Garbage collection, up to 12 ms at a time, comes on top. */
const BUDGET_MS = 4;

/**
 * The end of the line of all who have much to do in this process. The event loop goes round once for each of them: two
 * that had their turns in the same round would hold it for twice as long.
 */
let line: Promise<void> = Promise.resolve();

/** One reflector's share of the event loop. */
export class Turn {
  readonly #clock: Clock;
  #began = Number.NEGATIVE_INFINITY;
  #inLine: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True if it is time to `pass`; before the first time, too. */
  get over(): boolean {
    return this.#clock.now() - this.#began >= BUDGET_MS;
  }

  /** Lets others work: gets in line, once however many ask, and is back when nobody before it is left. */
  pass(): Promise<void> {
    this.#inLine ??= this.#back();
    return this.#inLine;
  }

  async #back(): Promise<void> {
    line = line.then(() => setImmediate());
    await line;
    this.#began = this.#clock.now();
    this.#inLine = undefined;
  }
}
