import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Clock } from "../../common/clock.ts";
import { sleep } from "../../common/sleep.ts";
import type { Source, SourceEvents } from "../sources/source.ts";
import { type Evidence, LOOK_MS } from "./evidence.ts";
import { isLate } from "./examiner.ts";
import type { HealthEvents } from "./health-events.ts";
import { type Probe, Prober } from "./prober.ts";
import { Suspicion } from "./suspicion.ts";
import { elementsOf, expiryOf } from "./verdict.ts";
import { VerdictEnds } from "./verdict-ends.ts";
import { Verdicts } from "./verdicts.ts";
import type { WatchedEndpoints } from "./watched-endpoints.ts";

/** What the source needs. */
export interface HealthOptions {
  readonly evidence: Evidence;
  /** The endpoints of the facts as they are now; undefined until they were listed. */
  readonly watched: () => WatchedEndpoints | undefined;
  readonly probe: Probe;
  readonly clock: Clock;
  readonly random: () => number;
  readonly events: HealthEvents;
}

/** Milliseconds between two looks at the kernel's evidence while an answer is late. */
const SOON_MS = 200;
/** Milliseconds between two looks whether the kernel still collects it, and after failures. */
const INSTALL_MS = 5_000;
const RETRY: BackoffBounds = { min: 5_000, max: 300_000 };
/** Verdicts of one cluster that are probed at once. */
const MOST_PROBED = 4;

/**
 * Finds endpoints that stop answering, and tells them as a fact: the kernel's evidence shows suspects, an examination finds what is silent, and an answer to any
 * connection, or to a probe, ends that. The kernel's set `silent` is its memory: a restart forgets no verdict.
 */
export class HealthSource implements Source {
  readonly name = "health";
  readonly #options: HealthOptions;
  readonly #verdicts = new Verdicts();
  readonly #prober: Prober;
  readonly #suspicion: Suspicion;
  readonly #ends: VerdictEnds;
  readonly #stop = new AbortController();
  /** Examinations and probes under way. */
  readonly #underWay = new Set<Promise<void>>();
  #report: () => void = () => undefined;
  #running: Promise<void> | undefined;
  #installAt = Number.NEGATIVE_INFINITY;
  #isWatching = false;
  #failures = 0;

  constructor(options: HealthOptions) {
    this.#options = options;
    this.#prober = new Prober(options.probe, options.events);
    const shared = {
      ...options,
      verdicts: this.#verdicts,
      prober: this.#prober,
      report: () => this.#report(),
    };
    this.#ends = new VerdictEnds({ ...shared, install: () => this.#install() });
    this.#suspicion = new Suspicion({
      ...shared,
      ends: this.#ends,
      follow: (work) => this.#follow(work),
      stop: this.#stop.signal,
    });
  }

  start(events: SourceEvents): void {
    this.#report = () => events.silenceChanged(this.#verdicts.silence, this.#options.clock.now());
    this.#running ??= this.#run(events);
  }

  /** Probes no more. The kernel keeps the verdicts. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await Promise.all(this.#underWay);
  }

  async #run(events: SourceEvents): Promise<void> {
    const { clock, evidence } = this.#options;
    const { signal } = this.#stop;
    // The agent does not wait for evidence: without it, nothing is silent.
    this.#verdicts.restore(await evidence.silent().catch(() => []), clock.now());
    for (const verdict of this.#verdicts.all) this.#options.events.silent(verdict);
    if (this.#verdicts.any) this.#report();
    events.listed();
    while (!signal.aborted) {
      const pause = await this.#look().catch((error) => this.#failed(error));
      await sleep(clock, pause, signal);
    }
  }

  /** Returns the milliseconds until the next look. */
  async #look(): Promise<number> {
    const { clock, evidence, events } = this.#options;
    const watched = this.#options.watched();
    if (watched === undefined) return LOOK_MS;
    if (clock.now() >= this.#installAt) {
      this.#installAt = clock.now() + INSTALL_MS;
      this.#isWatching = watched.any;
      if (this.#isWatching) await this.#install();
      else await this.#uninstall();
    }
    if (!this.#isWatching) return LOOK_MS;
    const waiting = await evidence.waiting();
    await this.#ends.endDropped(watched);
    if (this.#failures > 0) events.unavailable(undefined);
    this.#failures = 0;
    await this.#suspicion.suspect(waiting, watched);
    for (const verdict of this.#verdicts.due(clock.now(), MOST_PROBED)) {
      verdict.probeAt = Number.POSITIVE_INFINITY;
      this.#follow(this.#ends.revisit(verdict, watched));
    }
    return waiting.some(isLate) ? SOON_MS : LOOK_MS;
  }

  /** True if the table was not there, such as after `nft flush ruleset`, or another one: it has the verdicts again. */
  async #install(): Promise<boolean> {
    const { clock, evidence } = this.#options;
    if (!(await evidence.install(this.#stop.signal))) return false;
    for (const one of this.#verdicts.all) {
      const rest = expiryOf(one) - clock.now();
      if (rest > 0) await evidence.add(elementsOf(one, rest));
    }
    return true;
  }

  /** Nothing is watched: there is nothing to remember. A table that stays, because it cannot be accessed, does no harm. */
  async #uninstall(): Promise<void> {
    for (const verdict of this.#verdicts.all) this.#ends.ended(verdict, "expired");
    this.#prober.setUplink(false);
    await this.#options.evidence.uninstall().catch(() => 0);
  }

  #failed(error: unknown): number {
    const { clock, events, random } = this.#options;
    // A program that was stopped with the agent.
    if (this.#stop.signal.aborted) return 0;
    this.#installAt = Number.NEGATIVE_INFINITY;
    events.unavailable(error);
    // The kernel cannot be asked which have expired.
    for (const verdict of this.#verdicts.all) {
      if (expiryOf(verdict) <= clock.now()) this.#ends.ended(verdict, "expired");
    }
    return backoff(++this.#failures, RETRY, random());
  }

  #follow(work: Promise<void>): void {
    const followed = work
      .catch((error) => void this.#failed(error))
      .finally(() => this.#underWay.delete(followed));
    this.#underWay.add(followed);
  }
}
