/** A semaphore: limits how many tasks run at the same time; further tasks wait in order. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  /** `count`: maximum concurrent tasks, at least one. */
  constructor(count: number) {
    this.#free = count;
  }

  /** Runs `work` once a slot is free, and returns its result. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Passes the slot on, so that a new task cannot overtake a waiting one.
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
