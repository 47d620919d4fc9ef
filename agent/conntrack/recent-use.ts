import type { Entry } from "../system/conntrack/entry.ts";

/** An entry without a packet for as many seconds is idle. */
const IDLE_SECONDS = 10;

/**
 * Tells entries that clients use from idle ones, for one scan. The kernel does not report when an entry was used, but each packet begins its time
 * anew, and that is the same for entries in the same state: the longest that the scan has seen. Until it has seen one in use, idle ones count
 * as used, too.
 */
export class RecentUse {
  readonly #longest = new Map<string, number>();

  /** True, too, if it is not known how long the entry stays. */
  isUsed({ protocol, replied, assured, tcp, secondsLeft }: Entry): boolean {
    if (secondsLeft === undefined) return true;
    const state = `${protocol} ${replied} ${assured} ${tcp}`;
    const longest = Math.max(secondsLeft, this.#longest.get(state) ?? 0);
    this.#longest.set(state, longest);
    return secondsLeft > longest - IDLE_SECONDS;
  }
}
