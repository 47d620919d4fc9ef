import type { Scheduler } from "../../../api/scheduler.ts";
import type { Terms } from "./state.ts";

/**
 * The kernel's scheduler for the one that is asked for: `wrr` for `rr`, which is the same while all weights are 1. When a virtual server changes its
 * scheduler, the kernel takes the old one away, waits for RCU, and forwards no new connection meanwhile (ip_vs_edit_service): weights come and go without that.
 * `lc` ignores weights; `sh` and `mh` approximate them.
 */
export function kernelScheduler(asked: Scheduler, hasShares: boolean): Scheduler {
  return asked === "rr" || (hasShares && asked === "lc") ? "wrr" : asked;
}

/** Whether a virtual server of an earlier release, with `rr`, can stay: it need not change while all weights are 1. */
export function isRoundRobin(existing: Terms, desired: Terms, weights: Iterable<number>): boolean {
  const { scheduler, ...rest } = desired;
  const others = existing.flags === rest.flags && existing.timeout === rest.timeout;
  const isEqual = [...weights].every((weight) => weight === 1);
  return existing.scheduler === "rr" && scheduler === "wrr" && others && isEqual;
}
