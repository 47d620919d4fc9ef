/** Selects a few of many at a time, in turn. */
export class RoundRobin {
  readonly #size: number;
  #taken = 0;

  /** `size`: the number that is selected at a time. */
  constructor(size: number) {
    this.#size = size;
  }

  /** The next ones of `all`, starting over at the end. */
  next<One>(all: readonly One[]): One[] {
    if (this.#taken >= all.length) this.#taken = 0;
    const some = all.slice(this.#taken, this.#taken + this.#size);
    this.#taken += this.#size;
    return some;
  }
}
