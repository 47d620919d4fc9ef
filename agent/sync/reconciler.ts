import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Clock } from "../../common/clock.ts";
import { codeOf, type ErrorCode } from "../../common/errors.ts";
import type { Backend, Ruleset, Transaction } from "../backends/backend.ts";
import { Announcements } from "./announcements.ts";
import type { Follower } from "./follower.ts";
import { Inspection } from "./inspection.ts";
import { DOUBT_MS, MassLoss } from "./mass-loss.ts";
import type { Pace } from "./pace.ts";
import { Proposals } from "./proposals.ts";
import type { ReconcilerEvents } from "./reconciler-events.ts";
import { Rest } from "./rest.ts";
import { obstructed, type SetAside } from "./set-aside.ts";
import { Slices } from "./slices.ts";
import { Tidying } from "./tidying.ts";
import { type Scope, Trials } from "./trials.ts";
import { unitOf } from "./unit.ts";
import { unlessStopped } from "./unless-stopped.ts";
import { WaitingChanges } from "./waiting-changes.ts";
import type { Wanted } from "./wanted.ts";

/** What a reconciler is made of. */
export interface ReconcilerOptions<Believed, Changes, Tx extends Transaction> {
  readonly family: Family;
  readonly backend: Backend<Believed, Changes, Tx>;
  readonly wanted: Wanted;
  readonly follower?: Follower;
  /** How often to look; shared by all families. */
  readonly pace: Pace;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: ReconcilerEvents;
}

const RETRY: BackoffBounds = { min: 100, max: 30_000 };
/** Errors of transactions that the kernel, or the tool, has read and does not want. */
const REFUSED: ReadonlySet<ErrorCode | undefined> = new Set([
  "CSP_RESTORE_EXITED",
  "CSP_IPVS_REFUSED",
]);

/**
 * Keeps the kernel of one family as the plan wants it. The first change goes at once; what arrives while a
 * transaction is in flight shares the next one.
 *
 * 1. What the kernel holds is believed only after it said yes.
 * 2. On any failure: forget, wait, read back, compare everything. Nothing that was wanted is lost, because a
 *    complete pass starts from the facts, not from a queue.
 * 3. Each family has a reconciler of its own: one that cannot work does not stop the other.
 * 4. While nothing changes, it looks after what is live: what somebody else has done to it is repaired.
 * 5. What is refused twice holds something that will be refused for ever. It is searched for, one trial between two
 *    passes, so that all else goes on; see Trials.
 * 6. A first word of the sources that would take away most of what the kernel has is doubted; see MassLoss.
 * 7. What a backend keeps only for its connections goes when they have ended; see Tidying.
 * 8. What stands in the way of a service and is not ours stays; the service is set aside, and all others live.
 */
export class Reconciler<Believed, Changes, Tx extends Transaction> {
  readonly #options: ReconcilerOptions<Believed, Changes, Tx>;
  readonly #changes = new WaitingChanges();
  readonly #rest: Rest;
  readonly #trials: Trials;
  readonly #massLoss: MassLoss;
  readonly #announcements: Announcements;
  readonly #inspection: Inspection;
  readonly #tidying: Tidying;
  readonly #proposals: Proposals<Believed, Changes>;
  readonly #stop = new AbortController();
  #ruleset: Ruleset<Changes> | undefined;
  #believed: Believed | undefined;
  /** What has no place in the kernel, because of somebody else. */
  #obstructed: readonly SetAside[] = [];
  #passSince: number | undefined;
  #failures = 0;
  #synced = false;
  #running: Promise<void> | undefined;

  constructor(options: ReconcilerOptions<Believed, Changes, Tx>) {
    this.#options = options;
    const { family, backend, pace, clock, random, events } = options;
    this.#rest = new Rest(clock);
    const wake = () => this.#rest.wake();
    this.#trials = new Trials(clock, wake);
    this.#massLoss = new MassLoss({
      clock,
      doubted: (services, of) => events.lossDoubted({ family, services, of, believedIn: DOUBT_MS }),
      believed: (services) => {
        events.lossBelieved({ family, services });
        wake();
      },
    });
    const [changes, trials, massLoss] = [this.#changes, this.#trials, this.#massLoss];
    const stop = this.#stop.signal;
    this.#proposals = new Proposals({ ...options, changes, trials, massLoss, stop });
    this.#announcements = new Announcements(family, events);
    this.#tidying = new Tidying(clock, wake);
    this.#inspection = new Inspection({
      clock,
      random,
      look: async (stop) =>
        this.#believed === undefined ? [] : backend.check(this.#believed, stop),
      pause: (took) => pace.pause(family, took),
      drifted: (drift, repairIn) => this.#announcements.drifted(drift, repairIn),
      failed: (error, retryIn) => events.lookFailed({ family, error, retryIn }),
      wake,
    });
  }

  /** True once the kernel has been as wanted for the first time. */
  get synced(): boolean {
    return this.#synced;
  }

  /** When the oldest change that is not live was learned of; undefined if all are live. */
  get oldestWaiting(): number | undefined {
    return this.#changes.oldest;
  }

  /** When the pass that is under way began; undefined between passes. */
  get passSince(): number | undefined {
    return this.#passSince;
  }

  /** Services whose rules stay for a while, because most of what the kernel has would go at once. */
  get doubted(): number {
    return this.#massLoss.doubted;
  }

  /** What of one import is set aside. */
  setAside(key: ObjectKey): readonly SetAside[] {
    return [...this.#trials.of(key), ...this.#obstructed.filter((one) => one.importKey === key)];
  }

  /** Says that what one import wants may have changed. `at`: when that was learned of. */
  changed(key: ObjectKey, at: number): void {
    this.#changes.add(key, at);
    this.#rest.wake();
  }

  /** Says that no other backend's rules lead connections on any more. */
  alone(): void {
    const { backend } = this.#options;
    if (backend.alone === undefined) return;
    backend.alone();
    this.#tidying.now();
  }

  /** Begins, with a complete pass: until now, nothing has been read or written. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Lets the transaction in flight end, and begins no other. The kernel keeps its rules. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#trials.stop();
    this.#massLoss.stop();
    this.#tidying.stop();
    this.#rest.end();
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
      const pass = this.#hasWork ? this.#pass() : this.#tidy();
      const retryIn = await pass.catch((error) => this.#fail(error));
      this.#passSince = undefined;
      if (retryIn !== undefined) await this.#rest.for(retryIn);
      while (!this.#stopped && !this.#hasWork && !this.#tidying.due) await this.#rest.untilWoken();
      await this.#inspection.pending;
    }
  }

  get #hasWork(): boolean {
    const lost = this.#believed === undefined;
    return lost || this.#changes.any || this.#mustCompare || this.#trials.due;
  }

  get #mustCompare(): boolean {
    return this.#inspection.due || this.#trials.found || this.#massLoss.over;
  }

  /** All that is not in the kernel as it was planned. */
  get #aside(): readonly SetAside[] {
    return [...this.#trials.setAside, ...this.#obstructed];
  }

  /** True if nothing is held back. */
  get #whole(): boolean {
    return this.#trials.whole && this.#massLoss.whole;
  }

  async #pass(): Promise<void> {
    const { backend, clock } = this.#options;
    const started = clock.now();
    const before = this.#believed;
    const { due } = this.#inspection;
    const { over } = this.#massLoss;
    if (this.#mustCompare) this.#forget();
    const scope = this.#believed === undefined ? "complete" : "changed";
    const believed = this.#believed ?? (await this.#readBack(before));
    if (believed === undefined) return;
    this.#ruleset ??= backend.ruleset();
    const whole = await this.#proposals.make(this.#ruleset, scope, believed);
    if (this.#stopped) return;
    const tx = await this.#diff(believed, this.#ruleset);
    if (!tx.empty) await backend.apply(tx, believed);
    this.#believed = believed;
    if (over) this.#massLoss.compared();
    this.#accepted(scope, whole);
    if (due) this.#trials.reconsider();
    this.#tell({ scope, tx, started });
  }

  /** Removes what stayed only for its connections, and has none left. */
  async #tidy(): Promise<void> {
    const { backend } = this.#options;
    const believed = this.#believed;
    if (believed === undefined || backend.ended === undefined) return;
    const tx = await backend.ended(believed, this.#stop.signal);
    if (!this.#stopped && !tx.empty) await backend.apply(tx, believed);
    this.#inspection.passEnds("changed");
    this.#tidying.done();
  }

  /** Gives nothing if it was stopped meanwhile. `before`: what was believed until now, if anything was. */
  async #readBack(before: Believed | undefined): Promise<Believed | undefined> {
    const { backend } = this.#options;
    const found = await unlessStopped(backend.read(this.#stop.signal), this.#stop.signal);
    if (found === undefined) return undefined;
    this.#announcements.readBack(before === undefined ? [] : backend.compare(before, found));
    return found;
  }

  async #diff(believed: Believed, ruleset: Ruleset<Changes>): Promise<Tx> {
    const { backend, clock } = this.#options;
    const slices = new Slices(clock);
    const changes = ruleset.taking ? await slices.through(ruleset.taking()) : ruleset.take();
    if (backend.diffing === undefined) return backend.diff(believed, changes);
    return slices.through(backend.diffing(believed, changes));
  }

  #accepted(scope: Scope, whole: boolean): void {
    const { backend, family, follower, events } = this.#options;
    if (this.#trials.accepted()) events.tried({ family, accepted: true });
    this.#failures = 0;
    this.#synced ||= this.#whole;
    follower?.accepted(scope === "complete" && whole);
    this.#inspection.passEnds(scope);
    if (scope === "complete" && backend.ended !== undefined) this.#tidying.done();
    const obstacles = (this.#believed && backend.obstacles?.(this.#believed)) ?? [];
    this.#obstructed = obstacles.map(obstructed);
    this.#announcements.setAside(this.#aside);
  }

  #tell({ scope, tx, started }: { scope: Scope; tx: Transaction; started: number }): void {
    const { clock, events, family } = this.#options;
    const whole = this.#whole;
    const changedAt = this.#changes.live(whole);
    const seconds = (clock.now() - started) / 1000;
    const { writes, deletes } = tx;
    events.reconciled({ family, scope, seconds, whole, writes, deletes, changedAt });
  }

  #forget(): void {
    this.#believed = undefined;
    this.#ruleset = undefined;
  }

  /** Forgets what was believed, and returns the milliseconds until the next try; nothing if that is at once. */
  #fail(error: unknown): number | undefined {
    const { events, family, follower, random, wanted } = this.#options;
    this.#forget();
    this.#changes.failed();
    this.#inspection.passEnds();
    follower?.failed();
    const outcome = this.#trials.failed({
      refused: REFUSED.has(codeOf(error)),
      changed: (key) => this.#changes.has(key),
      wanted: ({ key, id }) =>
        wanted
          .services(key)()
          .find((one) => unitOf(one).id === id),
    });
    if (outcome === "trial") {
      events.tried({ family, accepted: false });
      this.#announcements.setAside(this.#aside, error);
      return undefined;
    }
    if (outcome === "held") this.#changes.withhold();
    const retryIn = backoff(++this.#failures, RETRY, random());
    events.failed({ family, error, failures: this.#failures, retryIn });
    return retryIn;
  }
}
