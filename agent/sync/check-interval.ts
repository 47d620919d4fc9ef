import type { Family } from "../../api/address.ts";

/** Milliseconds from one check to the next, at least. */
export const SHORTEST_INTERVAL = 5_000;
/** Milliseconds at most: users expect drift to be found within a minute, also where a check is slow. */
const LONGEST_INTERVAL = 60_000;
/**
 * The shares of time that the checks of all families may take together, unless one takes so long that the longest interval applies. A check keeps about one
 * processor busy, in the tool or in the agent. At rest: preflight and everything else fit into the remainder of 1 %. While other programs change rules: of two
 * families with 1,000 services each, every rule is compared within 15 s.
 */
const SHARES = { atRest: 0.009, prompted: 0.04 } as const;

/**
 * How often the kernel is checked: every five seconds where a check is cheap, less often where it is not. A check
 * of iptables reads whole tables, tenths of a second with thousands of services; with the nft flavour only after changes by other programs. Each family
 * has half of the share, and what the other does not use.
 */
export class CheckInterval {
  /** The share of time that each family's checks take now. */
  readonly #taken = new Map<Family, number>();
  /** Milliseconds that each family's last check took. */
  readonly #last = new Map<Family, number>();

  /**
   * Milliseconds until the next check of a family, from the end of one that took `ms`. Only two slow checks in a row make
   * checks rarer: the first one of a process is slow, and so is one during which the process or the machine was stopped. `prompted`: as in `Check`.
   */
  after(family: Family, ms: number, prompted = false): number {
    const usual = Math.min(ms, this.#last.get(family) ?? 0);
    this.#last.set(family, ms);
    const others = [...this.#taken].filter(([other]) => other !== family);
    const taken = others.reduce((sum, [, share]) => sum + share, 0);
    const all = prompted ? SHARES.prompted : SHARES.atRest;
    const share = Math.max(all - taken, all / 2);
    const interval = Math.min(LONGEST_INTERVAL, Math.max(SHORTEST_INTERVAL, usual / share - usual));
    this.#taken.set(family, usual / (usual + interval));
    return interval;
  }
}
