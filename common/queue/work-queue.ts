import { type BackoffBounds, backoff } from "../backoff.ts";
import type { Cancel, Clock } from "../clock.ts";
import { ApiFault } from "../kubernetes/api-fault.ts";

/** What a `WorkQueue` is made of. */
export interface WorkQueueOptions<Key> {
  /** Makes what a key names as it should be, from what is known by now. What it throws is tried again. */
  readonly reconcile: (key: Key) => Promise<void>;
  /** Keys that are worked on at the same time, at most. */
  readonly workers: number;
  /** Milliseconds between failures of a key; 200 ms to a minute if it is not said. */
  readonly backoff?: BackoffBounds;
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  readonly events: WorkQueueEvents<Key>;
}

/** Who hears what became of the work. None of it throws. */
export interface WorkQueueEvents<Key> {
  /** A key was worked on with success; it had been due for `waited` milliseconds, and took `took`. */
  done(key: Key, waited: number, took: number): void;
  /** Work on a key failed, for the so-manieth time in a row; it is tried again after `wait` milliseconds, or sooner. */
  failed(key: Key, thrown: unknown, failures: number, wait: number): void;
}

const BACKOFF: BackoffBounds = { min: 200, max: 60_000 };
/** By what share a wait that a server asks for may grow, so that not all keys come back at once. */
const RETRY_AFTER_SPREAD = 0.25;

/** Failures of a key that has not succeeded since. */
interface Trouble {
  readonly failures: number;
  /** A server asked to be left alone: nothing makes it sooner. */
  readonly patient: boolean;
  /** Takes the next try back; harmless once that has begun. */
  readonly cancel: Cancel;
}

/**
 * Keys of which something has changed, each worked on once, however often it was added: one at a time for a key, several
 * at a time in all, first come, first served. A key that is added while it is worked on is worked on again. One that
 * fails is tried again after a wait that doubles, half of it by chance; if it is added meanwhile, at once, since what
 * has changed may be what was wrong. Only what a server asks for (`Retry-After`) is waited for in any case.
 */
export class WorkQueue<Key> {
  readonly #options: WorkQueueOptions<Key>;
  /** Keys that are due, and since when; the first is next. Some of them may still be worked on. */
  readonly #due = new Map<Key, number>();
  /** Keys that are worked on, and since when they were due. */
  readonly #working = new Map<Key, number>();
  readonly #troubles = new Map<Key, Trouble>();
  #pending = false;
  #stopped: (() => void) | undefined;

  constructor(options: WorkQueueOptions<Key>) {
    this.#options = options;
  }

  /** Keys that are due and not yet worked on. */
  get depth(): number {
    return this.#due.size;
  }

  /** Keys that are worked on. */
  get working(): number {
    return this.#working.size;
  }

  /** Keys that failed and have not succeeded since. */
  get failing(): number {
    return this.#troubles.size;
  }

  /** Milliseconds for which the oldest key has been due, worked on or not; 0 if there is none. */
  get oldest(): number {
    const [due] = this.#due.values();
    const since = Math.min(due ?? Number.POSITIVE_INFINITY, ...this.#working.values());
    return since === Number.POSITIVE_INFINITY ? 0 : this.#options.clock.now() - since;
  }

  /** Something about this key has changed. Returns before any work begins. */
  add(key: Key): void {
    if (this.#stopped !== undefined || this.#due.has(key)) return;
    // The try that is to come will see it.
    if (this.#troubles.get(key)?.patient === true) return;
    this.#due.set(key, this.#options.clock.now());
    this.#wake();
  }

  /** Nothing begins after the call. Settles when what is under way has ended. */
  stop(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = this.#stopped;
    this.#stopped = (): void => {
      before?.();
      resolve();
    };
    for (const { cancel } of this.#troubles.values()) cancel();
    this.#due.clear();
    if (this.#working.size === 0) this.#stopped();
    return promise;
  }

  /** Begins what may begin, once whatever else has arrived by now has been added, too. */
  #wake(): void {
    if (this.#pending) return;
    this.#pending = true;
    setImmediate(() => {
      this.#pending = false;
      this.#begin();
    });
  }

  #begin(): void {
    for (const [key, since] of this.#due) {
      if (this.#working.size >= this.#options.workers) return;
      if (this.#working.has(key)) continue;
      this.#due.delete(key);
      this.#working.set(key, since);
      void this.#work(key, since);
    }
  }

  async #work(key: Key, since: number): Promise<void> {
    const { clock, events, reconcile } = this.#options;
    this.#troubles.get(key)?.cancel();
    const began = clock.now();
    try {
      await reconcile(key);
      this.#troubles.delete(key);
      events.done(key, began - since, clock.now() - began);
    } catch (thrown) {
      this.#fail(key, thrown);
    } finally {
      this.#working.delete(key);
      if (this.#stopped === undefined) this.#begin();
      else if (this.#working.size === 0) this.#stopped();
    }
  }

  #fail(key: Key, thrown: unknown): void {
    const { backoff: bounds = BACKOFF, clock, events, random } = this.#options;
    const failures = (this.#troubles.get(key)?.failures ?? 0) + 1;
    const asked = thrown instanceof ApiFault ? thrown.retryAfter : undefined;
    const patient = asked !== undefined;
    const least = (asked ?? 0) * (1 + RETRY_AFTER_SPREAD * random());
    const wait = Math.max(least, backoff(failures, bounds, random()));
    const again = (): void => {
      this.#troubles.set(key, { failures, patient: false, cancel: () => {} });
      this.add(key);
    };
    const cancel = this.#stopped === undefined ? clock.after(wait, again) : () => {};
    this.#troubles.set(key, { failures, patient, cancel });
    // What was added meanwhile is seen by the next try.
    if (patient) this.#due.delete(key);
    events.failed(key, thrown, failures, wait);
  }
}
