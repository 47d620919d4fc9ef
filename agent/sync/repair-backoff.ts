import type { Drift } from "../backends/backend.ts";

/** Milliseconds before the second repair of the same object; each further repair waits twice as long. */
const FIRST_WAIT = 5_000;
/** The longest wait: wrong rules for longer are worse than futile writes. */
const LONGEST_WAIT = 300_000;
/** Milliseconds without the same drift after which it counts as new. Longer than the longest wait. */
const FORGET_AFTER = 600_000;

/**
 * How soon drift is repaired. The first repair is immediate. Conflicting writers, which change the same object after each
 * repair, are repaired less and less often: two programs at full speed would only burn the node's CPU.
 */
export class RepairBackoff {
  readonly #seen = new Map<string, { readonly repairs: number; readonly at: number }>();

  /** Milliseconds to wait before this drift, found at `now`, is repaired; 0 if some of it is new. */
  wait(drift: readonly Drift[], now: number): number {
    for (const [what, { at }] of this.#seen) if (now - at > FORGET_AFTER) this.#seen.delete(what);
    let fewest = Number.POSITIVE_INFINITY;
    for (const what of new Set(drift.map(driftKey))) {
      const repairs = this.#seen.get(what)?.repairs ?? 0;
      fewest = Math.min(fewest, repairs);
      this.#seen.set(what, { repairs: repairs + 1, at: now });
    }
    return fewest === 0 ? 0 : Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (fewest - 1));
  }
}

/** The key under which two drifts count as the same. */
export function driftKey({ reason, what }: Drift): string {
  return `${reason} ${what}`;
}
