import type { Drift, DriftReason } from "../backends/backend.ts";

/** Milliseconds between two repairs, at least. */
const SHORTEST = 1_000;
/** Milliseconds before a repair of what another program changes again and again: the first one, doubled each time, up to the last. */
const CONFLICT = { first: 1_000, last: 5_000 };
/** Milliseconds without the same change after which it counts as new: nobody competes for what is changed every half a minute. */
const FORGET_AFTER = 12_000;
/** Between two repairs, this many times as long as one takes: of what is gone, and of what another program changes. */
const COST = { gone: 2, conflict: 10 };

/** Nothing else is in the place of these: connections to VIPs fail until they are back, and nobody competes for them. */
const GONE: readonly DriftReason[] = [
  "chain-missing",
  "guard-missing",
  "jump-missing",
  "server-missing",
  "table-missing",
  "vip-missing",
];

/**
 * How soon drift is repaired. What is gone comes back at once, however often: a firewall that reloads every minute must not take VIPs down. Only what
 * another program writes differently, again and again, waits, and five seconds at most: two programs at full speed would burn the node's processors.
 */
export class RepairPace {
  /** Changes by another program: how often they were repaired, and when they were last seen. */
  readonly #conflicts = new Map<string, { readonly repairs: number; readonly at: number }>();
  #repairedAt = Number.NEGATIVE_INFINITY;
  #took = 0;

  /** A complete repair has ended, after `took` milliseconds. */
  repaired(now: number, took: number): void {
    this.#repairedAt = now;
    this.#took = took;
  }

  /**
   * Milliseconds before this drift, found at `now`, is repaired. `backoff`: how many of them because another program keeps changing all of it; 0: it is
   * repaired as soon as repairs may follow each other.
   */
  wait(drift: readonly Drift[], now: number): { readonly after: number; readonly backoff: number } {
    for (const [what, { at }] of this.#conflicts)
      if (now - at > FORGET_AFTER) this.#conflicts.delete(what);
    let backoff = Number.POSITIVE_INFINITY;
    for (const one of drift) {
      const key = driftKey(one);
      const repairs = this.#conflicts.get(key)?.repairs ?? 0;
      const isNew = GONE.includes(one.reason) || repairs === 0;
      const wait = isNew ? 0 : Math.min(CONFLICT.last, CONFLICT.first * 2 ** (repairs - 1));
      backoff = Math.min(backoff, wait);
      this.#conflicts.set(key, { repairs: repairs + 1, at: now });
    }
    const cost = this.#took * (backoff > 0 ? COST.conflict : COST.gone);
    const pause = this.#repairedAt + Math.max(SHORTEST, cost) - now;
    return { after: Math.max(0, pause, backoff), backoff };
  }
}

/** The key under which two drifts count as the same. */
export function driftKey({ reason, what }: Drift): string {
  return `${reason} ${what}`;
}
