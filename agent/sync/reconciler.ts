import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Clock } from "../../common/clock.ts";
import { sleep } from "../../common/clock.ts";
import { TimeSlice } from "../../common/event-loop.ts";
import { type Drift, type Limits, type Programmed, UNLIMITED } from "../backends/backend.ts";
import type { KernelChange, KernelTable } from "../backends/kernel-table.ts";
import { Announcements } from "./announcements.ts";
import type { CheckInterval } from "./check-interval.ts";
import type { DesiredState } from "./desired-state.ts";
import { DriftCheck } from "./drift-check.ts";
import { isRejected, OffenderSearch } from "./offender-search.ts";
import { PendingChanges, type Portion } from "./pending-changes.ts";
import { Quarantine } from "./quarantine.ts";
import { conflicting, type QuarantinedService } from "./quarantined-service.ts";
import type { Follower, ReconcilerEvents } from "./reconciler-events.ts";
import { RetainedRules } from "./retained-rules.ts";

/** Options of a reconciler. */
export interface ReconcilerOptions {
  readonly family: Family;
  readonly table: KernelTable;
  /** Finds out what the node supports, by trying. Never rejects. */
  readonly limits: (stop: AbortSignal) => Promise<Limits>;
  readonly desired: DesiredState;
  readonly follower?: Follower;
  /** Receives what the kernel held before this process wrote to it. Once, before the first write. */
  readonly found?: (programmed: Programmed) => void;
  /** Maximum rules of one namespace in a transaction, so that its changes do not delay those of others; absent: any number. */
  readonly mostOfNamespace?: number;
  /** How often to check for drift; shared by all families. */
  readonly interval: CheckInterval;
  readonly clock: Clock;
  /** Milliseconds of processor time that this process and its programs have used; absent: durations count. */
  readonly processorTime?: (() => number) | undefined;
  readonly random: () => number;
  readonly events: ReconcilerEvents;
}

const RETRY: BackoffBounds = { min: 100, max: 30_000 };
/** Milliseconds of the longest pause after a search. */
const LONGEST_PAUSE = 5_000;

/**
 * Keeps the kernel of one family at the desired state. The first change goes at once; changes that arrive while a
 * transaction is in flight share the next one, with a limit for each namespace.
 *
 * 1. The state is what the kernel has accepted. On any failure it is forgotten, read back, and compared with everything
 *    desired, so that no change is lost.
 * 2. Each family has a reconciler of its own: a family that fails does not stop the other.
 * 3. Services that the kernel rejects are found and quarantined; see OffenderSearch.
 * 4. The first write waits while the first lists lack most services that the kernel holds, or flags their VIPs; see RetainedRules.
 * 5. Changes by other programs are repaired; see DriftCheck.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #changes = new PendingChanges();
  readonly #retained: RetainedRules;
  readonly #quarantine: Quarantine;
  readonly #search: OffenderSearch;
  readonly #announcements: Announcements;
  readonly #driftCheck: DriftCheck;
  readonly #stop = new AbortController();
  /** What each import cost when it was last written. */
  readonly #costs = new Map<ObjectKey, number>();
  #limits: Promise<Limits> | undefined;
  #conflicts: readonly QuarantinedService[] = [];
  #stepSince: number | undefined;
  #failures = 0;
  #synced = false;
  #inSyncAt: number | undefined;
  #wasRead = false;
  #running: Promise<void> | undefined;
  /** Ends the wait for work. */
  #wake: () => void = () => undefined;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    const { family, table, desired, interval, clock, random, events } = options;
    const wake = () => this.#wake();
    this.#retained = new RetainedRules({
      clock,
      retained: (what) => events.retained({ family, ...what }),
      released: (services) => events.released({ family, services }),
    });
    this.#quarantine = new Quarantine({ clock, random, wake });
    this.#search = new OffenderSearch({
      clock,
      desired,
      quarantine: this.#quarantine,
      write: async (keys) => void (await this.#write(keys)),
      changed: (key) => this.#changes.has(key),
      tried: (accepted) => events.tried({ family, accepted }),
    });
    this.#announcements = new Announcements(family, events);
    this.#driftCheck = new DriftCheck({
      clock,
      random,
      processorTime: options.processorTime,
      check: (scope, stop) => table.check(scope, stop),
      interval: (took, reading, scope) => interval.after(family, took, reading, scope),
      drifted: (drift, repairIn) => this.#announcements.drifted(drift, repairIn),
      clean: () => this.#sawInSync(),
      succeeded: () => {
        // After a pass that failed, nothing was checked.
        if (table.isComparable) events.checked(family);
      },
      failed: (error, retryIn) => events.checkFailed({ family, error, retryIn }),
      wake,
    });
  }

  /** True once the kernel was at the desired state. */
  get synced(): boolean {
    return this.#synced;
  }

  /** When the kernel was last known to be at the desired state, by a write or a check; undefined if it never was. */
  get inSyncAt(): number | undefined {
    return this.#inSyncAt;
  }

  /** When the oldest change that is not live was observed; undefined if all are live. */
  get oldestWaiting(): number | undefined {
    return this.#changes.oldest;
  }

  /** When the present step of the running pass began; undefined between passes. */
  get stepSince(): number | undefined {
    return this.#stepSince;
  }

  /** Services whose rules stay although the first lists lack them. */
  get retained(): number {
    return this.#retained.services;
  }

  /** The quarantined services of one import. */
  quarantined(key: ObjectKey): readonly QuarantinedService[] {
    const conflicts = this.#conflicts.filter(({ importKey }) => importKey === key);
    return [...this.#quarantine.of(key), ...conflicts];
  }

  /** The desired services of one import may have changed. `at`: when that was observed. */
  changed(key: ObjectKey, at: number): void {
    this.#changes.add(key, at);
    this.#wake();
  }

  /** Finds out what the node supports, if that is not known: ahead of the first pass, and before retries. */
  probe(): void {
    this.#limits ??= this.#options.limits(this.#stop.signal);
  }

  /** Checks the kernel now: what may be written depends on more than imports. */
  checkSoon(): void {
    this.#driftCheck.soon();
  }

  /** Starts with a complete pass. Before, the kernel is neither read nor written. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Lets the transaction in flight end, and starts no other. The kernel keeps its rules. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#quarantine.stop();
    this.#wake();
    await Promise.all([this.#running, this.#driftCheck.stop()]);
    await this.#options.table.close();
  }

  get #stopped(): boolean {
    return this.#stop.signal.aborted;
  }

  get #hasWork(): boolean {
    const { due, garbage } = this.#driftCheck;
    const changed = this.#changes.any || this.#quarantine.retryDue || this.#search.unfinished;
    return !this.#options.table.isKnown || changed || due || garbage !== undefined;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#stepSince = this.#options.clock.now();
      const { garbage } = this.#driftCheck;
      this.#driftCheck.passBegins();
      const pause = await this.#pass(garbage).catch((error) =>
        error === this.#stop.signal.reason ? 0 : this.#fail(error),
      );
      this.#stepSince = undefined;
      if (pause > 0) await sleep(this.#options.clock, pause, this.#stop.signal);
      while (!this.#stopped && !this.#hasWork) await this.#untilWoken();
      await this.#driftCheck.pending;
    }
  }

  #untilWoken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  /** Returns the milliseconds to pause before the next pass. `garbage`: what the last check found to be removable. */
  async #pass(garbage: KernelChange | undefined): Promise<number> {
    const { table, clock, desired, follower } = this.#options;
    const started = clock.now();
    const { due } = this.#driftCheck;
    const complete = due || !table.isKnown;
    const retry = this.#quarantine.retryDue;
    if (due || retry) this.#limits = undefined;
    this.probe();
    this.#quarantine.limits = (await this.#limits) ?? UNLIMITED;
    if (complete) {
      this.#announcements.readBack(await this.#read());
      const { programmed } = table;
      if (!this.#wasRead) {
        this.#options.found?.(programmed);
        this.#options.follower?.found(programmed.destinations);
      }
      this.#wasRead = true;
      const pause = await this.#retained.hold(programmed, desired);
      if (pause > 0 || this.#stopped) return this.#holdBack(pause);
    }
    const retried = retry ? this.#quarantine.retry() : [];
    if (!complete) retried.push(...this.#search.resume());
    if (!complete && !this.#changes.any && retried.length === 0) return this.#idle(garbage, retry);
    const taken = complete ? this.#changes.take() : this.#changes.take(this.#portion());
    const changed = new Set([...taken, ...retried]);
    try {
      const change = await this.#write(complete ? "all" : changed, follower);
      if (!this.#stopped) this.#accepted(complete ? "complete" : "changed", change, started);
      return 0;
    } catch (error) {
      if (this.#stopped || !isRejected(error)) throw error;
      return this.#isolate(error, changed, retried.length > 0);
    }
  }

  #portion(): Portion {
    const { desired, mostOfNamespace = Number.POSITIVE_INFINITY } = this.#options;
    // Deleting rules takes the kernel as long as adding them.
    const rulesOf = (key: ObjectKey) => Math.max(this.#costs.get(key) ?? 0, desired.cost(key));
    return { rulesOf, perNamespace: mostOfNamespace };
  }

  /** Nothing may be written yet: the kernel is read again first. */
  #holdBack(pause: number): number {
    this.#options.table.forget();
    this.#driftCheck.passEnds();
    return pause;
  }

  /** Nothing has changed: only garbage is removed. */
  async #idle(garbage: KernelChange | undefined, retry: boolean): Promise<number> {
    if (retry) this.#quarantine.passed();
    if (garbage !== undefined) await this.#options.table.write(garbage);
    this.#driftCheck.passEnds("changed");
    return 0;
  }

  /** The pass has come this far: it does not hang. */
  #step(): void {
    if (this.#stepSince !== undefined) this.#stepSince = this.#options.clock.now();
  }

  /** Rejects with the signal's reason if the reading is stopped, however it ends. */
  async #read(): Promise<readonly Drift[]> {
    const { signal } = this.#stop;
    try {
      return await this.#options.table.read(signal);
    } finally {
      signal.throwIfAborted();
    }
  }

  /** Makes these imports live on top of what the kernel has accepted, or everything. Rejects as `KernelTable.read` and `write` do. */
  async #write(keys: Iterable<ObjectKey> | "all", follower?: Follower): Promise<KernelChange> {
    const { table, clock, desired } = this.#options;
    if (!table.isKnown) await this.#read();
    this.#step();
    if (keys === "all") table.clear();
    const { programmed } = table;
    const slice = new TimeSlice(clock);
    for (const key of keys === "all" ? desired.keys() : keys) {
      if (slice.expired) {
        await slice.yield();
        this.#step();
      }
      const { services, again } = desired.services(key);
      const cost = desired.cost(key);
      if (cost === 0) this.#costs.delete(key);
      else this.#costs.set(key, cost);
      const admitted = this.#quarantine.admit(key, services);
      const { live, kept, whole } = this.#search.sift(key, admitted, programmed);
      // Services that are not written as planned are few: they stay in memory.
      table.set(key, live, live === services ? { again } : { kept });
      if (whole) follower?.proposed(key, live);
      else follower?.kept([...live, ...kept]);
    }
    const change = await slice.run(table.change());
    this.#step();
    if (!this.#stopped) await table.write(change);
    this.#step();
    return change;
  }

  #sawInSync(): void {
    if (!this.#options.table.isKnown || this.#changes.any || this.#search.unfinished) return;
    this.#inSyncAt = this.#options.clock.now();
  }

  #accepted(
    scope: "changed" | "complete",
    { writes, deletes }: KernelChange,
    started: number,
  ): void {
    const { table, clock, family, follower, events } = this.#options;
    this.#failures = 0;
    const whole = !this.#search.unfinished;
    this.#synced ||= whole;
    follower?.accepted(scope === "complete" && whole);
    this.#driftCheck.passEnds(scope);
    this.#quarantine.passed();
    this.#conflicts = table.conflicts.map(conflicting);
    this.#announcements.quarantined([...this.#quarantine.all, ...this.#conflicts]);
    const seconds = (clock.now() - started) / 1000;
    const changedAt = this.#changes.live();
    this.#sawInSync();
    events.reconciled({ family, scope, seconds, writes, deletes, changedAt });
  }

  /**
   * Searches for the services that the kernel rejects; a complete pass follows, without them. Returns the milliseconds to
   * pause before it: as long as the search took, so that new offenders without end leave the processor half of the time.
   */
  async #isolate(error: unknown, changed: ReadonlySet<ObjectKey>, retry: boolean): Promise<number> {
    const { clock, events, family, follower } = this.#options;
    const began = clock.now();
    follower?.failed();
    // A retry is expected to be rejected.
    if (!retry) events.failed({ family, error, failures: ++this.#failures, retryIn: 0 });
    const found = await this.#search.run(changed);
    if (!found) throw error;
    this.#options.table.forget();
    this.#changes.failed();
    this.#driftCheck.passEnds();
    return Math.min(clock.now() - began, LONGEST_PAUSE);
  }

  /** Forgets the state, and returns the milliseconds until the next attempt. */
  #fail(error: unknown): number {
    const { events, family, follower, random, table } = this.#options;
    table.forget();
    this.#changes.failed();
    this.#driftCheck.passEnds();
    follower?.failed();
    const retryIn = backoff(++this.#failures, RETRY, random());
    events.failed({ family, error, failures: this.#failures, retryIn });
    return retryIn;
  }
}
