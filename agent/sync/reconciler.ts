import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Clock } from "../../common/clock.ts";
import type { Backend, Ruleset, Transaction } from "../backends/backend.ts";
import type { VirtualService } from "../plan/virtual-service.ts";

/** What a reconciler has just made of the kernel. */
export interface Reconciliation {
  readonly family: Family;
  /** `complete`: everything was read back and compared; `changed`: only what had changed was. */
  readonly scope: "changed" | "complete";
  /** From the first thing done to the kernel's yes. */
  readonly seconds: number;
  readonly writes: number;
  readonly deletes: number;
  /** For each change that is now live: when its source learned of it, in milliseconds of the clock. */
  readonly changedAt: readonly number[];
}

/** A pass that failed. The kernel keeps what it had, or part of the new: the next pass reads it back. */
export interface Failure {
  readonly family: Family;
  readonly error: unknown;
  /** How many in a row, this one included. */
  readonly failures: number;
  /** Milliseconds until the next try. */
  readonly retryIn: number;
}

/** Who is told. */
export interface ReconcilerEvents {
  reconciled(what: Reconciliation): void;
  failed(what: Failure): void;
}

/** What a reconciler is made of. */
export interface ReconcilerOptions<Believed, Changes, Tx extends Transaction> {
  readonly family: Family;
  readonly backend: Backend<Believed, Changes, Tx>;
  /** Every import with its services of this family: what a complete pass starts from. */
  readonly everything: () => Iterable<readonly [ObjectKey, readonly VirtualService[]]>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: ReconcilerEvents;
}

/** Times of waiting changes that are kept: while the kernel refuses everything for days, the oldest count. */
const MOST_WAITING = 10_000;
const RETRY: BackoffBounds = { min: 100, max: 30_000 };

/**
 * Keeps the kernel of one family as the plan wants it. The first change goes at once; what arrives while a
 * transaction is in flight shares the next one.
 *
 * 1. What the kernel holds is believed only after it said yes.
 * 2. On any failure: forget, wait, read back, compare everything. Nothing that was wanted is lost, because a
 *    complete pass starts from the facts, not from a queue.
 * 3. Each family has a reconciler of its own: one that cannot work does not stop the other.
 */
export class Reconciler<Believed, Changes, Tx extends Transaction> {
  readonly #options: ReconcilerOptions<Believed, Changes, Tx>;
  #ruleset: Ruleset<Changes> | undefined;
  #believed: Believed | undefined;
  #waiting: number[] = [];
  #inFlight: number[] = [];
  #passSince: number | undefined;
  #failures = 0;
  #synced = false;
  #stopped = false;
  #wake: () => void = () => undefined;
  #running: Promise<void> | undefined;

  constructor(options: ReconcilerOptions<Believed, Changes, Tx>) {
    this.#options = options;
  }

  /** True once the kernel has been as wanted for the first time. */
  get synced(): boolean {
    return this.#synced;
  }

  /** When the oldest change that is not live was learned of; undefined if all are live. */
  get oldestWaiting(): number | undefined {
    // Sources learn of changes one by one, but tell of them together: the first told is not always the oldest.
    const times = [...this.#inFlight, ...this.#waiting];
    return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
  }

  /** When the pass that is under way began; undefined between passes. */
  get passSince(): number | undefined {
    return this.#passSince;
  }

  /** Says what one import wants from now on. `at`: when that was learned of. */
  set(key: ObjectKey, services: readonly VirtualService[], at: number): void {
    this.#ruleset?.set(key, services);
    if (this.#waiting.length < MOST_WAITING) this.#waiting.push(at);
    this.#wake();
  }

  /** Begins, with a complete pass: until now, nothing has been read or written. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Lets the transaction in flight end, and begins no other. The kernel keeps its rules. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake();
    await this.#running;
    await this.#options.backend.close();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#inFlight = this.#waiting.splice(0);
      this.#passSince = this.#options.clock.now();
      const retryIn = await this.#pass().catch((error) => this.#fail(error));
      this.#passSince = undefined;
      if (retryIn !== undefined) await this.#pause(retryIn);
      else if (this.#waiting.length === 0) await this.#pause();
    }
  }

  async #pass(): Promise<void> {
    const { backend, clock, events, family } = this.#options;
    const started = clock.now();
    const scope = this.#believed === undefined ? "complete" : "changed";
    const believed = this.#believed ?? (await this.#readBack());
    if (this.#stopped) return;
    this.#ruleset ??= this.#renderAll();
    const tx = backend.diff(believed, this.#ruleset.take());
    if (!tx.empty) await backend.apply(tx, believed);
    this.#believed = believed;
    this.#synced = true;
    this.#failures = 0;
    const changedAt = this.#inFlight.splice(0);
    const seconds = (clock.now() - started) / 1000;
    const { writes, deletes } = tx;
    events.reconciled({ family, scope, seconds, writes, deletes, changedAt });
  }

  /** Changes that arrive while the kernel is read become part of the complete pass. */
  async #readBack(): Promise<Believed> {
    const believed = await this.#options.backend.read();
    this.#inFlight = [...this.#inFlight, ...this.#waiting.splice(0)];
    return believed;
  }

  #renderAll(): Ruleset<Changes> {
    const ruleset = this.#options.backend.ruleset();
    for (const [key, services] of this.#options.everything()) ruleset.set(key, services);
    return ruleset;
  }

  /** Forgets what was believed, and returns the milliseconds until the next try. */
  #fail(error: unknown): number {
    this.#believed = undefined;
    this.#ruleset = undefined;
    this.#waiting = [...this.#inFlight.splice(0), ...this.#waiting].slice(0, MOST_WAITING);
    const retryIn = backoff(++this.#failures, RETRY, this.#options.random());
    const { events, family } = this.#options;
    events.failed({ family, error, failures: this.#failures, retryIn });
    return retryIn;
  }

  /** Waits for `ms`, or, without it, for something to do; ends early when stopped. */
  #pause(ms?: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#stopped) return Promise.resolve();
    const cancel = ms === undefined ? () => undefined : this.#options.clock.after(ms, resolve);
    this.#wake = () => {
      if (ms !== undefined && !this.#stopped) return;
      cancel();
      resolve();
    };
    return promise;
  }
}
