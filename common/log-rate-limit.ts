import type { Clock } from "./clock.ts";
import type { Logger, LogLine } from "./log.ts";

/** Log lines that one object may have at once, by default: a failover of an import has one for each port and family. */
const BURST = 100;
/** Milliseconds after which it may have one more, by default. */
const REFILL_MS = 1_000;

/** Objects in memory, at most: names that a user makes up do not fill it. The one without a line for longest is forgotten, and has its whole burst again. */
const MOST_OBJECTS = 4_096;

/** What one object has used. */
interface Share {
  readonly used: number;
  /** Milliseconds of the clock. */
  readonly at: number;
  readonly leftOut: number;
  /** A line has said that lines are left out. */
  readonly isAnnounced: boolean;
}

/** Whether a line is written. */
export interface Ration {
  readonly write: boolean;
  /** Lines of the object since the last one that was written, this one included. */
  readonly leftOut: number;
  /** True for the first line that is left out. */
  readonly isFirst: boolean;
}

/**
 * Limits the log lines of each object, so that one that changes all the time does not push the others out of a rotated
 * log; and Events, in the same way.
 */
export class LogRateLimit {
  readonly #clock: Pick<Clock, "now">;
  readonly #refill: number;
  readonly #burst: number;
  /** In the order of their last lines. */
  readonly #shares = new Map<string, Share>();

  /** `refill`: milliseconds for one more line; `burst`: lines at once. */
  constructor(clock: Pick<Clock, "now">, refill = REFILL_MS, burst = BURST) {
    this.#clock = clock;
    this.#refill = refill;
    this.#burst = burst;
  }

  /** Objects in memory: those that had a line within minutes, `MOST_OBJECTS` at most. */
  get size(): number {
    return this.#shares.size;
  }

  /** Whether to write a line about `object`. */
  ration(object: string): Ration {
    const now = this.#clock.now();
    this.#forgetOld(now);
    const share = this.#shares.get(object);
    const used =
      share === undefined ? 0 : Math.max(0, share.used - (now - share.at) / this.#refill);
    const before = share?.leftOut ?? 0;
    const isAnnounced = share?.isAnnounced === true && used > this.#burst / 2;
    const write = used + 1 <= this.#burst;
    const leftOut = write ? before : before + 1;
    this.#shares.delete(object);
    this.#shares.set(object, {
      used: write ? used + 1 : used,
      at: now,
      leftOut: write ? 0 : leftOut,
      isAnnounced: isAnnounced || !write,
    });
    return { write, leftOut, isFirst: !write && !isAnnounced };
  }

  #forgetOld(now: number): void {
    for (const [object, { at }] of this.#shares) {
      const isFull = this.#shares.size >= MOST_OBJECTS;
      if (!isFull && now - at < this.#burst * this.#refill) return;
      this.#shares.delete(object);
    }
  }
}

/** A log with a limited rate of lines about each object. Lines that are left out are counted in the next one. */
export class LimitedLog {
  readonly #log: Logger;
  readonly #limit: LogRateLimit;

  /** `refill`: as of `LogRateLimit`. */
  constructor(log: Logger, clock: Pick<Clock, "now">, refill?: number) {
    this.#log = log;
    this.#limit = new LogRateLimit(clock, refill);
  }

  write(object: string, line: LogLine): void {
    if (!this.#log.enabled(line.level)) return;
    const { write, leftOut, isFirst } = this.#limit.ration(object);
    if (write) {
      this.#log.write(leftOut === 0 ? line : { ...line, fields: { ...line.fields, leftOut } });
    } else if (isFirst) {
      this.#log.warn("Too many log lines about an object; leaving some out", { object });
    }
  }
}
