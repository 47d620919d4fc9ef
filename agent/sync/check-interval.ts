import type { Family } from "../../api/address.ts";
import type { CheckScope, Reading } from "../backends/backend.ts";

/** Milliseconds until the first check: a backend may have believed at its start what this one reads. */
export const FIRST_INTERVAL: number = 1_000;
/** Milliseconds between two checks, at most. */
const LONGEST = 60_000;

/** What a check costs: one for what is `gone` whatever it reads, one for all drift by why it read. */
type Kind = "gone" | "routine" | "prompted";
/** Milliseconds from one check to the next of its kind, at least. */
const SHORTEST: Readonly<Record<Kind, number>> = { gone: 1_000, routine: 2_000, prompted: 1_000 };
/**
 * The shares of one processor that the checks of all families may take together, unless one takes so long that the longest interval applies. VIPs that another program
 * has flushed are down until a check for what is gone. While other programs change rules: of two families with 1,000 services each, every rule is compared within 12 s.
 */
const SHARES: Readonly<Record<Kind, number>> = { gone: 0.02, routine: 0.02, prompted: 0.03 };
/**
 * A check that would come more rarely than every `seldom` milliseconds may take this share instead. A firewall that reloads must not take VIPs down for more than three seconds, with the
 * repair. A chain of one service that another program has flushed refuses its calls until all drift is looked for: the check for what is gone does not read it.
 */
const SLOW: Readonly<Record<CheckScope, { readonly seldom: number; readonly share: number }>> = {
  gone: { seldom: 2_000, share: 0.04 },
  all: { seldom: 10_000, share: 0.05 },
};

/**
 * How often the kernel is checked: every second for what is gone, and every two seconds for all drift, where that is cheap; less often where it is not. Where the kernel
 * counts changes, it is asked every second, and rules are read only after one by another program. Each family has half of a share, and what the other does not use.
 */
export class CheckInterval {
  /** The share of time that each family's checks take now, by scope. */
  readonly #taken = new Map<CheckScope, Map<Family, number>>();
  /** Milliseconds that the last reading took, by family and kind: few prompted ones may follow many routine ones. */
  readonly #last = new Map<string, number>();

  /**
   * Milliseconds until the next check of a family and scope, from the end of one that took `ms` of a processor. Only two slow checks in a row make
   * checks rarer: the first one of a process is slow, and so is one during which the process or the machine was stopped.
   */
  after(family: Family, ms: number, reading: Reading, scope: CheckScope = "all"): number {
    if (reading === "none") return FIRST_INTERVAL;
    const kind = scope === "gone" ? scope : reading;
    const usual = Math.min(ms, this.#last.get(`${family} ${kind}`) ?? 0);
    this.#last.set(`${family} ${kind}`, ms);
    const shares = this.#taken.get(scope) ?? new Map<Family, number>();
    this.#taken.set(scope, shares);
    const others = [...shares].filter(([other]) => other !== family);
    const taken = others.reduce((sum, [, share]) => sum + share, 0);
    const intervalAt = (most: number) => usual / Math.max(most - taken, most / 2) - usual;
    let interval = Math.max(SHORTEST[kind], intervalAt(SHARES[kind]));
    const { seldom, share } = SLOW[scope];
    if (interval > seldom) interval = Math.max(seldom, intervalAt(share));
    interval = Math.min(LONGEST, interval);
    shares.set(family, usual / (usual + interval));
    return interval;
  }
}
