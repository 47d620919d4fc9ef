/** Lets so many things be done at the same time; whoever comes later waits, first come, first served. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  /** `count`: how many; at least one. */
  constructor(count: number) {
    this.#free = count;
  }

  /** Does `work` as soon as there is a place for it, and gives what that gives. */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Handed over: nobody who comes now may take it from whoever waits.
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
