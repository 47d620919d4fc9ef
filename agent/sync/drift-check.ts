import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { CheckScope, Drift, Reading } from "../backends/backend.ts";
import type { Check, KernelChange } from "../backends/kernel-table.ts";
import { FIRST_INTERVAL } from "./check-interval.ts";
import { driftKey, RepairPace } from "./repair-pace.ts";

/** Milliseconds between complete passes, varied by a tenth so that a thousand nodes do not compare at the same time. */
const BETWEEN_COMPARISONS = 900_000;
/** Waits after checks that failed. */
const RETRY: BackoffBounds = { min: 5_000, max: 300_000 };
/** Checks of one scope in a row that passes may overlap before the next pass waits for one. */
const MOST_OVERLAPPED = 3;
/** The part of the interval after which a check of everything is repeated whose result does not count, because a pass overlapped it. */
const AFTER_OVERLAPPED = 1 / 2;
/** A check for what is gone is repeated after so many times its cost then, and so many milliseconds at least. */
const GONE_AFTER_OVERLAPPED = { times: 4, least: 1_000 } as const;

/** What a drift check needs. */
export interface DriftCheckOptions {
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** Checks the kernel. */
  readonly check: (scope: CheckScope, stop: AbortSignal) => Promise<Check>;
  /** Milliseconds of processor time that this process and its programs have used. Absent: durations count. */
  readonly processorTime?: (() => number) | undefined;
  /** Milliseconds from the end of a check that took so many to the next of its scope. */
  readonly interval: (took: number, reading: Reading, scope: CheckScope) => number;
  /** Other programs have changed our rules; `repairIn`: milliseconds until a complete pass is due for it, because they do so again and again; else 0. */
  readonly drifted: (drift: readonly Drift[], repairIn: number) => void;
  /** A check of everything that no pass has overlapped found nothing. */
  readonly clean: () => void;
  /** A check did not fail, whatever it found. */
  readonly succeeded: () => void;
  /** A check failed; `retryIn`: milliseconds until the next. */
  readonly failed: (error: unknown, retryIn: number) => void;
  /** A complete pass has become due, or there is garbage. */
  readonly wake: () => void;
}

/**
 * Decides when the kernel is checked for changes by other programs, and when it is compared with the whole desired state.
 * Checks run beside passes, so that no change waits for one; a check that a pass has overlapped is discarded. What is gone is looked for first, and often; one
 * that looks for all drift follows when it is due.
 */
export class DriftCheck {
  readonly #options: DriftCheckOptions;
  readonly #pace = new RepairPace();
  /** Drift of which the repair is due, or waits. */
  readonly #awaited = new Set<string>();
  #repairAt = Number.POSITIVE_INFINITY;
  #passBegan = 0;
  readonly #stop = new AbortController();
  /** Odd while a pass is running. */
  #passes = 0;
  readonly #overlapped: Record<CheckScope, number> = { gone: 0, all: 0 };
  #failures = 0;
  #due = false;
  /** What the check that is running, or comes next, looks for. */
  #scope: CheckScope = "gone";
  /** Milliseconds to the next check, as of the last one. */
  #interval = FIRST_INTERVAL;
  /** When the next check of everything is due. */
  #allAt = 0;
  #garbage: KernelChange | undefined;
  /** A check is due, and waits for the end of the pass. */
  #overdue = false;
  #checking: Promise<void> | undefined;
  #cancelCheck: Cancel | undefined;
  #cancelComparison: Cancel = () => undefined;
  #cancelRepair: Cancel = () => undefined;

  constructor(options: DriftCheckOptions) {
    this.#options = options;
  }

  /** True if everything is to be read back and compared. */
  get due(): boolean {
    return this.#due;
  }

  /** What can be removed, as of the last check; undefined if there is nothing, or if a pass began since. */
  get garbage(): KernelChange | undefined {
    return this.#garbage;
  }

  /** What the next pass waits for, because passes have overlapped too many checks; usually undefined. */
  get pending(): Promise<void> | undefined {
    return this.#overlapped[this.#scope] >= MOST_OVERLAPPED ? this.#checking : undefined;
  }

  /** Checks everything now, or after what is running, instead of at the end of the interval. */
  soon(): void {
    this.#allAt = 0;
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
    this.#overdue = this.#checking !== undefined || this.#passes % 2 === 1;
    if (!this.#overdue && !this.#stop.signal.aborted) this.#begin();
  }

  passBegins(): void {
    this.#passes++;
    this.#passBegan = this.#options.clock.now();
    this.#garbage = undefined;
  }

  /** A pass has ended. `success`: what it compared; absent if it failed. */
  passEnds(success?: "changed" | "complete"): void {
    this.#passes++;
    if (this.#stop.signal.aborted || success === undefined) return;
    if (success === "complete") this.#compared();
    if (this.#overdue) this.#begin();
    else if (this.#checking === undefined) this.#cancelCheck ??= this.#after(this.#interval);
  }

  /** Aborts the check that is running. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancelCheck?.();
    this.#cancelRepair();
    this.#cancelComparison();
    await this.#checking;
  }

  #compared(): void {
    const { clock, random } = this.#options;
    this.#due = false;
    this.#cancelRepair();
    this.#pace.repaired(clock.now(), clock.now() - this.#passBegan);
    this.#awaited.clear();
    this.#repairAt = Number.POSITIVE_INFINITY;
    this.#cancelComparison();
    const ms = BETWEEN_COMPARISONS * (0.9 + 0.2 * random());
    this.#cancelComparison = clock.after(ms, () => this.#fallDue());
  }

  #fallDue(): void {
    this.#due = true;
    this.#options.wake();
  }

  #after(ms: number): Cancel {
    return this.#options.clock.after(ms, () => {
      this.#cancelCheck = undefined;
      this.#overdue = this.#overlapped[this.#scope] >= MOST_OVERLAPPED && this.#passes % 2 === 1;
      if (!this.#overdue) this.#begin();
    });
  }

  #begin(): void {
    this.#overdue = false;
    this.#checking = this.#check().then((next) => {
      this.#checking = undefined;
      if (next === undefined || this.#stop.signal.aborted) return;
      const isDue = this.#overdue || next === 0;
      if (isDue && this.#passes % 2 === 0) this.#begin();
      else this.#cancelCheck = this.#after(next);
    });
  }

  /** Repairs what is not awaited yet. What another program fights about may wait, but holds up nothing that is gone meanwhile. */
  #await(drift: readonly Drift[]): void {
    const { clock, drifted } = this.#options;
    const news = drift.filter((one) => !this.#awaited.has(driftKey(one)));
    if (news.length === 0) return;
    const now = clock.now();
    const { after, backoff: repairIn } = this.#pace.wait(news, now);
    for (const one of news) this.#awaited.add(driftKey(one));
    drifted(news, repairIn);
    if (now + after >= this.#repairAt) return;
    this.#repairAt = now + after;
    this.#cancelRepair();
    this.#cancelRepair = clock.after(after, () => this.#fallDue());
  }

  /** Returns the milliseconds until the next check, and sets its scope; undefined if there is none. */
  async #check(): Promise<number | undefined> {
    const { clock, random, check, interval, clean, succeeded, failed, wake } = this.#options;
    const scope = this.#scope;
    const began = clock.now();
    const time = this.#options.processorTime ?? (() => clock.now());
    const passes = this.#passes;
    try {
      const used = time();
      const { drift, garbage, reading } = await check(scope, this.#stop.signal);
      const ms = clock.now() - began;
      // On a busy node a check takes longer, but costs no more. What a prompted one costs is not known: its program goes on running.
      const cost = reading === "routine" ? Math.min(ms, time() - used) : ms;
      const next = interval(cost, reading, scope);
      if (scope === "gone") this.#interval = next;
      this.#scope = "gone";
      this.#failures = 0;
      succeeded();
      const isOverlapped = passes !== this.#passes || passes % 2 === 1;
      // What was requested meanwhile follows this one.
      if (scope === "all" && !this.#overdue)
        this.#allAt = clock.now() + next * (isOverlapped ? AFTER_OVERLAPPED : 1);
      this.#overlapped[scope] = isOverlapped ? this.#overlapped[scope] + 1 : 0;
      if (isOverlapped) {
        const { times, least } = GONE_AFTER_OVERLAPPED;
        return Math.min(this.#interval, Math.max(least, times * cost));
      }
      if (this.#stop.signal.aborted) return undefined;
      if (drift.length > 0) this.#await(drift);
      else if (scope === "gone" && reading !== "none") {
        if (clock.now() < this.#allAt) return this.#interval;
        this.#scope = "all";
        return 0;
      } else {
        clean();
        this.#garbage = garbage;
        if (garbage !== undefined) wake();
      }
      return this.#interval;
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      const retryIn = backoff(++this.#failures, RETRY, random());
      failed(error, retryIn);
      return retryIn;
    }
  }
}
