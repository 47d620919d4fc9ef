import type { Family } from "../../api/address.ts";
import type { Reading } from "../backends/backend.ts";

/** Milliseconds until the first check: a backend may have believed at its start what this one reads. */
export const FIRST_INTERVAL: number = 1_000;
/** Milliseconds from one check to the next, at least. */
const SHORTEST = { routine: 2_000, prompted: 1_000, none: 1_000 } as const;
/** Milliseconds at most. */
const LONGEST = 60_000;
/**
 * Checks that read the whole tables each time come after this many milliseconds, as long as each family's take no more than `MOST_SHARE`: VIPs that another
 * program has flushed are down until then.
 */
const LONGEST_ROUTINE = 10_000;
const MOST_SHARE = 0.05;
/**
 * The shares of one processor that the checks of all families may take together, unless one takes so long that the longest interval applies. While other programs
 * change rules: of two families with 1,000 services each, every rule is compared within 15 s. A check that changes of ours have overlapped is repeated earlier (drift-check.ts).
 */
const SHARES = { routine: 0.02, prompted: 0.04 } as const;

/**
 * How often the kernel is checked: every two seconds where a check is cheap, less often where it is not. A check that takes up to half a second of a
 * processor runs every ten seconds at least: it reads whole tables. Where the kernel counts changes, it is asked every second, and rules are read only after one by another program. Each
 * family has half of the share, and what the other does not use.
 */
export class CheckInterval {
  /** The share of time that each family's checks take now. */
  readonly #taken = new Map<Family, number>();
  /** Milliseconds that the last reading took, by family and reason: few prompted ones may follow many routine ones. */
  readonly #last = new Map<string, number>();

  /**
   * Milliseconds until the next check of a family, from the end of one that took `ms` of a processor. Only two slow checks in a row make
   * checks rarer: the first one of a process is slow, and so is one during which the process or the machine was stopped.
   */
  after(family: Family, ms: number, reading: Reading): number {
    if (reading === "none") return SHORTEST.none;
    const kind = `${family} ${reading}`;
    const usual = Math.min(ms, this.#last.get(kind) ?? 0);
    this.#last.set(kind, ms);
    const others = [...this.#taken].filter(([other]) => other !== family);
    const taken = others.reduce((sum, [, share]) => sum + share, 0);
    const all = SHARES[reading];
    const share = Math.max(all - taken, all / 2);
    const most = reading === "routine" ? Math.max(LONGEST_ROUTINE, usual / MOST_SHARE) : LONGEST;
    const wanted = Math.max(SHORTEST[reading], usual / share - usual);
    const interval = Math.min(LONGEST, most, wanted);
    this.#taken.set(family, usual / (usual + interval));
    return interval;
  }
}
