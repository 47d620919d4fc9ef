import type { Family } from "../../api/address.ts";

/** Milliseconds from one look to the next, at least. */
export const SHORTEST_PAUSE = 5_000;
/**
 * Milliseconds at most: by then, everything is compared anyway. A process that stood still in the middle of a look has
 * not been busy for all that time.
 */
const LONGEST_PAUSE = 900_000;
/**
 * How much of the time the looks of all families may take together. A look keeps about one processor busy, be it the
 * tool's part of it or ours; what else the agent does at rest, preflight above all, fits into the rest of 1 %.
 */
const SHARE = 0.007;

/**
 * How often the kernel is looked at: every five seconds where a look is cheap, less often where it is not. In the
 * legacy flavour a look reads whole tables, tenths of a second with thousands of services. What one family leaves of
 * the share is the other's; half of it is sure.
 */
export class Pace {
  /** What part of the time each family's looks take now. */
  readonly #taken = new Map<Family, number>();

  /** Milliseconds until the next look of a family, from the end of one that took `ms`. */
  pause(family: Family, ms: number): number {
    const others = [...this.#taken].filter(([other]) => other !== family);
    const taken = others.reduce((sum, [, share]) => sum + share, 0);
    const share = Math.max(SHARE - taken, SHARE / 2);
    const pause = Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, ms / share - ms));
    this.#taken.set(family, ms / (ms + pause));
    return pause;
  }
}
