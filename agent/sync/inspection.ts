import { type BackoffBounds, backoff } from "../../common/backoff.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { Drift } from "../backends/backend.ts";
import { Feud } from "./feud.ts";
import { SHORTEST_PAUSE } from "./pace.ts";

/** Milliseconds between complete passes, a tenth of it more or less: a thousand nodes do not compare together. */
const BETWEEN_COMPARISONS = 900_000;
/** Waits after looks that failed. */
const RETRY: BackoffBounds = { min: SHORTEST_PAUSE, max: 300_000 };
/** Looks in a row that a pass may spoil before passes wait for one. */
const MOST_SPOILED = 3;

/** What an inspection needs. */
export interface InspectionOptions {
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** Looks, and gives what somebody else has changed. */
  readonly look: (stop: AbortSignal) => Promise<readonly Drift[]>;
  /** Milliseconds until the next look, from the end of one that took so many. */
  readonly pause: (took: number) => number;
  /** Somebody else has changed something; `repairIn`: milliseconds until a complete pass is due for it. */
  readonly drifted: (drift: readonly Drift[], repairIn: number) => void;
  /** A look failed; `retryIn`: milliseconds until the next. */
  readonly failed: (error: unknown, retryIn: number) => void;
  /** A complete pass has become due. */
  readonly wake: () => void;
}

/**
 * Says when the kernel is to be looked at, and when to be compared with everything that is wanted. Looks run
 * beside passes, so that no change ever waits for one; a look that a pass has overlapped tells nothing.
 */
export class Inspection {
  readonly #options: InspectionOptions;
  readonly #feud = new Feud();
  readonly #stop = new AbortController();
  /** Odd while a pass is under way. */
  #passes = 0;
  #spoiled = 0;
  #failures = 0;
  #due = false;
  /** A look's time has come, and it waits for the end of the pass. */
  #overdue = false;
  #looking: Promise<void> | undefined;
  #cancelLook: Cancel | undefined;
  #cancelComparison: Cancel = () => undefined;
  #cancelRepair: Cancel | undefined;

  constructor(options: InspectionOptions) {
    this.#options = options;
  }

  /** True if everything is to be read back and compared. */
  get due(): boolean {
    return this.#due;
  }

  /** What the next pass has to wait for, because passes have spoiled too many looks; nothing, as a rule. */
  get pending(): Promise<void> | undefined {
    return this.#spoiled >= MOST_SPOILED ? this.#looking : undefined;
  }

  passBegins(): void {
    this.#passes++;
  }

  /** A pass has ended. `success`: what it compared, absent if it failed. */
  passEnds(success?: "changed" | "complete"): void {
    this.#passes++;
    if (this.#stop.signal.aborted || success === undefined) return;
    if (success === "complete") this.#compared();
    if (this.#overdue) this.#beginLook();
    else if (this.#looking === undefined && this.#cancelRepair === undefined) {
      this.#cancelLook ??= this.#after(SHORTEST_PAUSE);
    }
  }

  /** Gives up what is under way. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#cancelLook?.();
    this.#cancelRepair?.();
    this.#cancelComparison();
    await this.#looking;
  }

  #compared(): void {
    const { clock, random } = this.#options;
    this.#due = false;
    this.#cancelRepair?.();
    this.#cancelRepair = undefined;
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
      this.#cancelLook = undefined;
      this.#overdue = this.#spoiled >= MOST_SPOILED && this.#passes % 2 === 1;
      if (!this.#overdue) this.#beginLook();
    });
  }

  #beginLook(): void {
    this.#overdue = false;
    this.#looking = this.#look().then((next) => {
      this.#looking = undefined;
      if (next !== undefined && !this.#stop.signal.aborted) this.#cancelLook = this.#after(next);
    });
  }

  /** Gives the milliseconds until the next look; nothing if that has to wait for a repair. */
  async #look(): Promise<number | undefined> {
    const { clock, random, look, pause, drifted, failed } = this.#options;
    const began = clock.now();
    const passes = this.#passes;
    try {
      const drift = await look(this.#stop.signal);
      const next = pause(clock.now() - began);
      this.#failures = 0;
      if (passes !== this.#passes || passes % 2 === 1) {
        this.#spoiled++;
        return next;
      }
      this.#spoiled = 0;
      if (drift.length === 0 || this.#stop.signal.aborted) return next;
      const repairIn = this.#feud.wait(drift, clock.now());
      drifted(drift, repairIn);
      this.#cancelRepair = clock.after(repairIn, () => this.#fallDue());
      return undefined;
    } catch (error) {
      if (this.#stop.signal.aborted) return undefined;
      const retryIn = backoff(++this.#failures, RETRY, random());
      failed(error, retryIn);
      return retryIn;
    }
  }
}
