import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Clock } from "../../common/clock.ts";
import type { Backend, Drift, Ruleset, Transaction } from "../backends/backend.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { driftKey } from "./feud.ts";
import type { Follower } from "./follower.ts";
import { Inspection } from "./inspection.ts";
import { Slices } from "./slices.ts";

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

/** A pass or a look that failed. The kernel keeps what it had, or part of the new: the next pass reads it back. */
export interface Failure {
  readonly family: Family;
  readonly error: unknown;
  /** How many in a row, this one included. */
  readonly failures: number;
  /** Milliseconds until the next try. */
  readonly retryIn: number;
}

/** What somebody else did to our kernel objects. */
export interface Drifted {
  readonly family: Family;
  readonly drift: readonly Drift[];
  /** Milliseconds until it is repaired: more than 0 if the same was repaired shortly before. */
  readonly repairIn: number;
}

/** Who is told. */
export interface ReconcilerEvents {
  reconciled(what: Reconciliation): void;
  failed(what: Failure): void;
  drifted(what: Drifted): void;
  /** Looking whether somebody has changed anything failed; rules are written all the same. */
  lookFailed(what: Omit<Failure, "failures">): void;
}

/** Everything that the kernel of one family should hold, as of now. */
export interface Wanted {
  /** Every import that wants anything, and perhaps some that want nothing. */
  keys(): Iterable<ObjectKey>;
  /**
   * The services of one import as they are planned now, in a form that costs no memory: the function gives the
   * same whenever it is called, whatever has changed since.
   */
  services(key: ObjectKey): () => readonly VirtualService[];
}

/** What a reconciler is made of. */
export interface ReconcilerOptions<Believed, Changes, Tx extends Transaction> {
  readonly family: Family;
  readonly backend: Backend<Believed, Changes, Tx>;
  readonly wanted: Wanted;
  readonly follower?: Follower;
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
 * 4. While nothing changes, it looks after what is live: what somebody else has done to it is repaired.
 */
export class Reconciler<Believed, Changes, Tx extends Transaction> {
  readonly #options: ReconcilerOptions<Believed, Changes, Tx>;
  readonly #inspection: Inspection;
  readonly #stop = new AbortController();
  #ruleset: Ruleset<Changes> | undefined;
  #believed: Believed | undefined;
  /** Imports whose services may not be what they were when they were last written. */
  #changed = new Set<ObjectKey>();
  #waiting: number[] = [];
  #inFlight: number[] = [];
  #passSince: number | undefined;
  #failures = 0;
  #synced = false;
  /** What has been told of the drift that the next complete pass repairs. */
  #told = new Set<string>();
  #wake: () => void = () => undefined;
  #running: Promise<void> | undefined;

  constructor(options: ReconcilerOptions<Believed, Changes, Tx>) {
    this.#options = options;
    const { family, clock, random, events } = options;
    this.#inspection = new Inspection({
      clock,
      random,
      look: async (stop) =>
        this.#believed === undefined ? [] : options.backend.check(this.#believed, stop),
      drifted: (drift, repairIn) => {
        for (const each of drift) this.#told.add(driftKey(each));
        events.drifted({ family, drift, repairIn });
      },
      failed: (error, retryIn) => events.lookFailed({ family, error, retryIn }),
      wake: () => this.#wake(),
    });
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

  /** Says that what one import wants may have changed. `at`: when that was learned of. */
  changed(key: ObjectKey, at: number): void {
    this.#changed.add(key);
    if (this.#waiting.length < MOST_WAITING) this.#waiting.push(at);
    this.#wake();
  }

  /** Begins, with a complete pass: until now, nothing has been read or written. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Lets the transaction in flight end, and begins no other. The kernel keeps its rules. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await Promise.all([this.#running, this.#inspection.stop()]);
    await this.#options.backend.close();
  }

  get #stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#passSince = this.#options.clock.now();
      this.#inspection.passBegins();
      const retryIn = await this.#pass().catch((error) => this.#fail(error));
      this.#passSince = undefined;
      if (retryIn !== undefined) await this.#pause(retryIn);
      await this.#inspection.pending;
      while (retryIn === undefined && !this.#stopped && !this.#hasWork) await this.#pause();
    }
  }

  get #hasWork(): boolean {
    return this.#changed.size > 0 || this.#inspection.due;
  }

  async #pass(): Promise<void> {
    const { backend, clock, events, family, follower } = this.#options;
    const started = clock.now();
    const before = this.#believed;
    if (this.#inspection.due) this.#forget();
    const scope = this.#believed === undefined ? "complete" : "changed";
    const believed = this.#believed ?? (await this.#readBack(before));
    if (believed === undefined) return;
    this.#ruleset ??= backend.ruleset();
    await this.#propose(this.#ruleset, scope);
    if (this.#stopped) return;
    const tx = backend.diff(believed, this.#ruleset.take());
    if (!tx.empty) await backend.apply(tx, believed);
    this.#believed = believed;
    this.#synced = true;
    this.#failures = 0;
    follower?.accepted(scope === "complete");
    const changedAt = this.#inFlight.splice(0);
    const seconds = (clock.now() - started) / 1000;
    const { writes, deletes } = tx;
    this.#inspection.passEnds(scope);
    events.reconciled({ family, scope, seconds, writes, deletes, changedAt });
  }

  /** Gives nothing if it was stopped meanwhile. `before`: what was believed until now, if anything was. */
  async #readBack(before: Believed | undefined): Promise<Believed | undefined> {
    const { backend, events, family } = this.#options;
    try {
      const found = await backend.read(this.#stop.signal);
      if (this.#stopped) return undefined;
      const drift = before === undefined ? [] : backend.compare(before, found);
      const news = drift.filter((each) => !this.#told.has(driftKey(each)));
      if (news.length > 0) events.drifted({ family, drift: news, repairIn: 0 });
      this.#told.clear();
      return found;
    } catch (error) {
      if (this.#stopped) return undefined;
      throw error;
    }
  }

  /** Takes what is wanted into the ruleset; what changes while this lets others run has its turn in the next pass. */
  async #propose(ruleset: Ruleset<Changes>, scope: "changed" | "complete"): Promise<void> {
    const { wanted, follower, clock } = this.#options;
    this.#inFlight = [...this.#inFlight, ...this.#waiting.splice(0)];
    const keys = scope === "complete" ? [...wanted.keys()] : this.#changed;
    this.#changed = new Set();
    const slices = new Slices(clock);
    for (const key of keys) {
      if (slices.due) await slices.pause();
      if (this.#stopped) return;
      const services = wanted.services(key);
      const now = services();
      ruleset.set(key, now, services);
      follower?.proposed(key, now);
    }
  }

  #forget(): void {
    this.#believed = undefined;
    this.#ruleset = undefined;
  }

  /** Forgets what was believed, and returns the milliseconds until the next try. */
  #fail(error: unknown): number {
    const { events, family, follower, random } = this.#options;
    this.#forget();
    this.#waiting = [...this.#inFlight.splice(0), ...this.#waiting].slice(0, MOST_WAITING);
    this.#inspection.passEnds();
    follower?.failed();
    const retryIn = backoff(++this.#failures, RETRY, random());
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
