/** IPVS schedulers, by the kernel's names (net/netfilter/ipvs); all destinations have equal weights. */
export const SCHEDULERS = ["rr", "lc", "sh", "mh", "wrr"] as const;
/** One of `SCHEDULERS`. */
export type Scheduler = (typeof SCHEDULERS)[number];
