import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Clock } from "../../common/clock.ts";
import { codeOf } from "../../common/errors.ts";
import type { Backend, Ruleset, Transaction } from "../backends/backend.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import { Allowance } from "./allowance.ts";
import { driftKey } from "./feud.ts";
import type { Follower } from "./follower.ts";
import { Inspection } from "./inspection.ts";
import { Isolation, type SetAside, type Unit, unitOf } from "./isolation.ts";
import type { ReconcilerEvents } from "./reconciler-events.ts";
import { Slices } from "./slices.ts";
import { type Proposal, Suspicion } from "./suspicion.ts";

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
/** The error of a transaction that the kernel, or the tool, has read and does not want. */
const REFUSED = "CSP_RESTORE_EXITED";

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
 *    passes, so that all else goes on; see Isolation.
 */
export class Reconciler<Believed, Changes, Tx extends Transaction> {
  readonly #options: ReconcilerOptions<Believed, Changes, Tx>;
  readonly #inspection: Inspection;
  readonly #stop = new AbortController();
  readonly #isolation = new Isolation();
  readonly #suspicion = new Suspicion();
  readonly #allowance: Allowance;
  #ruleset: Ruleset<Changes> | undefined;
  #believed: Believed | undefined;
  /** Imports whose services may not be what they were when they were last written. */
  #changed = new Set<ObjectKey>();
  #waiting: number[] = [];
  #inFlight: number[] = [];
  /** Times of changes that may be held back, until that is known. */
  #withheld: number[] = [];
  #passSince: number | undefined;
  #failures = 0;
  #proposal: Proposal = { complete: true, units: [] };
  /** True if the last pass was a trial. */
  #tried = false;
  /** True if the search is over, and what came of it is to be compared. */
  #found = false;
  #synced = false;
  /** What has been told of the drift that the next complete pass repairs. */
  #toldDrift = new Set<string>();
  /** What has been told of services that are set aside. */
  #toldAside = new Map<string, SetAside>();
  #wake: () => void = () => undefined;
  #running: Promise<void> | undefined;

  constructor(options: ReconcilerOptions<Believed, Changes, Tx>) {
    this.#options = options;
    const { family, clock, random, events } = options;
    this.#allowance = new Allowance(clock, () => this.#wake());
    this.#inspection = new Inspection({
      clock,
      random,
      look: async (stop) =>
        this.#believed === undefined ? [] : options.backend.check(this.#believed, stop),
      drifted: (drift, repairIn) => {
        for (const each of drift) this.#toldDrift.add(driftKey(each));
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
    const times = [...this.#inFlight, ...this.#waiting, ...this.#withheld];
    return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
  }

  /** When the pass that is under way began; undefined between passes. */
  get passSince(): number | undefined {
    return this.#passSince;
  }

  /** What of one import is set aside. */
  setAside(key: ObjectKey): readonly SetAside[] {
    return this.#isolation.of(key);
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
    this.#allowance.stop();
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
      while (!this.#stopped && !this.#hasWork) await this.#pause();
      await this.#inspection.pending;
    }
  }

  get #hasWork(): boolean {
    const lost = this.#believed === undefined;
    return lost || this.#changed.size > 0 || this.#inspection.due || this.#found || this.#mayTry;
  }

  get #mayTry(): boolean {
    const { holding } = this.#isolation;
    return holding && !this.#suspicion.open && this.#allowance.left;
  }

  async #pass(): Promise<void> {
    const { backend } = this.#options;
    const started = this.#options.clock.now();
    const before = this.#believed;
    const { due } = this.#inspection;
    if (due || this.#found) this.#forget();
    const scope = this.#believed === undefined ? "complete" : "changed";
    const believed = this.#believed ?? (await this.#readBack(before));
    if (believed === undefined) return;
    this.#ruleset ??= backend.ruleset();
    const whole = await this.#propose(this.#ruleset, scope, believed);
    if (this.#stopped) return;
    const tx = await this.#diff(believed, this.#ruleset);
    if (!tx.empty) await backend.apply(tx, believed);
    this.#believed = believed;
    this.#accepted(scope, whole);
    if (due) this.#isolation.reconsider();
    this.#tell({ scope, tx, started });
  }

  async #diff(believed: Believed, ruleset: Ruleset<Changes>): Promise<Tx> {
    const { backend, clock } = this.#options;
    const slices = new Slices(clock);
    const changes = ruleset.taking ? await slices.through(ruleset.taking()) : ruleset.take();
    if (backend.diffing === undefined) return backend.diff(believed, changes);
    return slices.through(backend.diffing(believed, changes));
  }

  #accepted(scope: "changed" | "complete", whole: boolean): void {
    const { family, follower, events } = this.#options;
    const { trying } = this.#isolation;
    if (trying) events.tried({ family, accepted: true });
    const { holding } = this.#isolation;
    this.#isolation.accepted();
    this.#found = holding && !this.#isolation.holding;
    this.#tried = trying;
    this.#suspicion.passed();
    this.#failures = 0;
    this.#synced ||= !this.#isolation.holding && !this.#found;
    follower?.accepted(scope === "complete" && whole);
    this.#inspection.passEnds(scope);
    this.#tellAside();
  }

  #tell(done: { scope: "changed" | "complete"; tx: Transaction; started: number }): void {
    const { clock, events, family } = this.#options;
    const { scope, tx, started } = done;
    const whole = !this.#isolation.holding && !this.#found;
    if (whole) this.#inFlight.push(...this.#withheld.splice(0));
    const changedAt = this.#inFlight.splice(0);
    const seconds = (clock.now() - started) / 1000;
    const { writes, deletes } = tx;
    events.reconciled({ family, scope, seconds, whole, writes, deletes, changedAt });
  }

  /** Gives nothing if it was stopped meanwhile. `before`: what was believed until now, if anything was. */
  async #readBack(before: Believed | undefined): Promise<Believed | undefined> {
    const { backend, events, family } = this.#options;
    try {
      const found = await backend.read(this.#stop.signal);
      if (this.#stopped) return undefined;
      const drift = before === undefined ? [] : backend.compare(before, found);
      const news = drift.filter((each) => !this.#toldDrift.has(driftKey(each)));
      if (news.length > 0) events.drifted({ family, drift: news, repairIn: 0 });
      this.#toldDrift.clear();
      return found;
    } catch (error) {
      if (this.#stopped) return undefined;
      throw error;
    }
  }

  /**
   * Takes what is wanted into the ruleset; what changes while this lets others run has its turn in the next pass.
   * False if some of it is held back.
   */
  async #propose(
    ruleset: Ruleset<Changes>,
    scope: "changed" | "complete",
    believed: Believed,
  ): Promise<boolean> {
    const { backend, wanted, follower, clock } = this.#options;
    const keys = this.#keysToPropose(scope);
    const slices = new Slices(clock);
    const units: Unit[] = [];
    this.#proposal = { complete: scope === "complete", units };
    let whole = true;
    for (const key of keys) {
      if (slices.due) await slices.pause();
      if (this.#stopped) return false;
      const again = wanted.services(key);
      const services = again();
      const sifted = this.#isolation.sift(key, services, (one) => backend.has(believed, one));
      // What is written otherwise than planned is rare: it is not worth the trouble of being made twice.
      const extra = sifted.live === services ? { again } : { kept: sifted.kept };
      ruleset.set(key, sifted.live, extra);
      for (const service of sifted.live) units.push(unitOf(service));
      if (sifted.whole) follower?.proposed(key, sifted.live);
      else whole = false;
    }
    return whole;
  }

  /** A trial is about nothing else; changes and trials take turns. */
  #keysToPropose(scope: "changed" | "complete"): Iterable<ObjectKey> {
    const quiet = this.#changed.size === 0;
    const mayTry = this.#mayTry && (quiet || (scope === "changed" && !this.#tried));
    const trial = mayTry ? this.#isolation.try() : undefined;
    if (trial !== undefined && scope === "changed") return trial;
    this.#inFlight = [...this.#inFlight, ...this.#waiting.splice(0)];
    const changed = this.#changed;
    this.#changed = new Set();
    return scope === "complete" ? [...this.#options.wanted.keys()] : changed;
  }

  #forget(): void {
    this.#believed = undefined;
    this.#ruleset = undefined;
  }

  /** Forgets what was believed, and returns the milliseconds until the next try; nothing if that is at once. */
  #fail(error: unknown): number | undefined {
    const { events, family, follower, random } = this.#options;
    this.#forget();
    this.#waiting = [...this.#inFlight.splice(0), ...this.#waiting].slice(0, MOST_WAITING);
    this.#inspection.passEnds();
    follower?.failed();
    this.#tried = this.#isolation.trying;
    const refused = codeOf(error) === REFUSED;
    if (refused && this.#isolation.trying) {
      this.#trialRefused();
      events.tried({ family, accepted: false });
      this.#tellAside(error);
      return undefined;
    }
    this.#isolation.undecided();
    if (refused && this.#suspicion.refused(this.#proposal, this.#isolation)) {
      this.#withheld = [...this.#withheld, ...this.#waiting.splice(0)].slice(0, MOST_WAITING);
    }
    const retryIn = backoff(++this.#failures, RETRY, random());
    events.failed({ family, error, failures: this.#failures, retryIn });
    return retryIn;
  }

  #trialRefused(): void {
    this.#allowance.spend();
    // What has changed since the trial began may have been part of it, and be what was refused.
    if (this.#proposal.units.some(({ key }) => this.#changed.has(key))) {
      this.#isolation.undecided();
      return;
    }
    this.#isolation.refused((unit) =>
      this.#options.wanted
        .services(unit.key)()
        .find((service) => unitOf(service).id === unit.id),
    );
    this.#found = !this.#isolation.holding;
  }

  /** Says what has become different about services that are set aside. */
  #tellAside(error?: unknown): void {
    const { events, family } = this.#options;
    const before = this.#toldAside;
    if (before.size === 0 && !this.#isolation.any) return;
    this.#toldAside = new Map(this.#isolation.list.map((each) => [asideKey(each), each]));
    for (const [key, each] of before) {
      if (!this.#toldAside.has(key)) events.restored({ family, ...each });
    }
    for (const [key, each] of this.#toldAside) {
      if (!before.has(key)) events.setAside({ family, ...each, error });
    }
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

function asideKey({ servicePort, protocol, reason }: SetAside): string {
  return `${servicePort} ${protocol} ${reason}`;
}
