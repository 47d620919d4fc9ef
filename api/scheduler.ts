/**
 * How a backend that has the choice picks an endpoint for a new connection, by the kernel's names (net/netfilter/ipvs):
 * in turn; the one with the fewest connections; by the client's address, in two ways; and in turn by weight, where all
 * weigh the same.
 */
export const SCHEDULERS = ["rr", "lc", "sh", "mh", "wrr"] as const;
/** One of `SCHEDULERS`. */
export type Scheduler = (typeof SCHEDULERS)[number];

/** True if `text` is exactly one of `SCHEDULERS`. */
export function isScheduler(text: unknown): text is Scheduler {
  return SCHEDULERS.some((one) => one === text);
}
