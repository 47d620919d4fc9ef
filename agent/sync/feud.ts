import type { Drift } from "../backends/backend.ts";

/** Milliseconds before the second repair of the same thing; each further one waits twice as long. */
const FIRST_WAIT = 5_000;
/** The longest wait: rules that are wrong for longer are worse than writing them again in vain. */
const LONGEST_WAIT = 300_000;
/** Milliseconds without the same change after which it is news again. Longer than the longest wait. */
const CALM = 600_000;

/**
 * How eagerly to repair. What somebody changes once is repaired at once; whoever changes it again after each
 * repair is not fought at full speed, because both would only burn the node's CPU.
 */
export class Feud {
  readonly #seen = new Map<string, { readonly repairs: number; readonly at: number }>();

  /** Milliseconds to wait before this drift, found at `now`, is repaired. Something new in it is repaired at once. */
  wait(drift: readonly Drift[], now: number): number {
    for (const [what, { at }] of this.#seen) if (now - at > CALM) this.#seen.delete(what);
    let fewest = Number.POSITIVE_INFINITY;
    for (const what of new Set(drift.map(driftKey))) {
      const repairs = this.#seen.get(what)?.repairs ?? 0;
      fewest = Math.min(fewest, repairs);
      this.#seen.set(what, { repairs: repairs + 1, at: now });
    }
    return fewest === 0 ? 0 : Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (fewest - 1));
  }
}

/** What makes two drifts the same. */
export function driftKey({ reason, what }: Drift): string {
  return `${reason} ${what}`;
}
