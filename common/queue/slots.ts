import { mayTake } from "../../api/fair-budget.ts";

/** Starts work that waits. */
type Waiting = Set<() => void>;

const NOBODY = "";

/**
 * A semaphore: limits how many tasks run at the same time. Further tasks wait in order. Owners, such as namespaces, share the slots (`mayTake`): a free one goes
 * to the owner with the fewest.
 */
export class Slots {
  #free: number;
  /** Slots in use, by owner. */
  readonly #held = new Map<string, number>();
  /** By owner; one that has waited for longer is in front. */
  readonly #waiting = new Map<string, Waiting>();

  /** `count`: maximum concurrent tasks, at least one. */
  constructor(count: number) {
    this.#free = count;
  }

  /** Runs `work` once a slot is free, and returns its result. `owner`: whose share it takes; absent: it may take all. */
  async hold<T>(work: () => Promise<T>, owner = NOBODY): Promise<T> {
    if (!this.#waiting.has(owner) && this.#mayTake(owner)) this.#take(owner);
    else await this.#wait(owner);
    try {
      return await work();
    } finally {
      const left = this.#heldBy(owner) - 1;
      if (left === 0) this.#held.delete(owner);
      else this.#held.set(owner, left);
      this.#free++;
      this.#startNext();
    }
  }

  #mayTake(owner: string): boolean {
    return owner === NOBODY ? this.#free > 0 : mayTake(this.#heldBy(owner), this.#free);
  }

  #heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  #take(owner: string): void {
    this.#free--;
    this.#held.set(owner, this.#heldBy(owner) + 1);
  }

  #wait(owner: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const own = this.#waiting.get(owner) ?? new Set();
    this.#waiting.set(owner, own.add(resolve));
    return promise;
  }

  /** Takes the slots before those that wait run, so that a new task cannot overtake them. */
  #startNext(): void {
    for (;;) {
      const owners = [...this.#waiting.keys()].filter((one) => this.#mayTake(one));
      const [owner] = owners.toSorted((a, b) => this.#heldBy(a) - this.#heldBy(b));
      if (owner === undefined) return;
      const waiting = this.#waiting.get(owner) ?? new Set();
      const [start] = waiting;
      // At the end, if more of it wait.
      this.#waiting.delete(owner);
      if (start === undefined) continue;
      waiting.delete(start);
      if (waiting.size > 0) this.#waiting.set(owner, waiting);
      this.#take(owner);
      start();
    }
  }
}
