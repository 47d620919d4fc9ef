import type { Clock } from "../../common/clock.ts";

/** Lines that one object may have at once: a failover of an import has one for each port and family. */
const BURST = 100;
/** Milliseconds after which it may have one more. */
const REFILL = 1_000;

/** What one object has used, as of then. */
interface Share {
  readonly used: number;
  readonly at: number;
  readonly leftOut: number;
}

/** What becomes of a line. */
export interface Ration {
  readonly write: boolean;
  /** Lines of the object that were left out since the last that was written; of one that is left out, this one included. */
  readonly leftOut: number;
}

/**
 * How many lines of the log may be about one object. Who changes an object to and fro, by a fault or on purpose, must not
 * push everything else out of a log that is kept to a size. Each object has a share of its own: nobody silences another.
 */
export class LineShares {
  readonly #clock: Pick<Clock, "now">;
  /** Who had the last line comes last. */
  readonly #shares = new Map<string, Share>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Objects that are remembered: those that had a line within minutes. */
  get size(): number {
    return this.#shares.size;
  }

  /** Whether a line about `object` is to be written. */
  ration(object: string): Ration {
    const now = this.#clock.now();
    this.#forgetOld(now);
    const share = this.#shares.get(object);
    const used = share === undefined ? 0 : leftOf(share, now);
    const leftOut = share?.leftOut ?? 0;
    const write = used + 1 <= BURST;
    this.#shares.delete(object);
    this.#shares.set(object, {
      ...{ used: write ? used + 1 : used, at: now },
      leftOut: write ? 0 : leftOut + 1,
    });
    return { write, leftOut: write ? leftOut : leftOut + 1 };
  }

  #forgetOld(now: number): void {
    for (const [object, { at }] of this.#shares) {
      if (now - at < BURST * REFILL) return;
      this.#shares.delete(object);
    }
  }
}

function leftOf({ used, at }: Share, now: number): number {
  return Math.max(0, used - (now - at) / REFILL);
}
