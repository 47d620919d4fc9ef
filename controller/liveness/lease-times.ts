import { LONGEST_WRITE_MS } from "../../common/kubernetes/writer.ts";
import { LEASE_MS, RENEW_MS } from "../../common/lease/leader-elector.ts";

/** Times that follow from the Lease duration. Milliseconds. */
export interface LeaseTimes {
  /** Between renewals of the cluster's Lease. */
  readonly renewEvery: number;
  /** Duration of the election Lease; whole seconds. */
  readonly election: number;
  /** Between renewals of the election Lease, and between checks of a standby; plus up to a fifth at random. */
  readonly electEvery: number;
  /** Timeout of a write: the leader must stay leader for as long. */
  readonly longestWrite: number;
}

/** Accepted Lease durations in seconds. With less than six, `longestWrite` is too short for a busy API server. */
export const LEASE_CHOICE = { least: 6, most: 300 } as const;

/**
 * The times for a Lease duration of L seconds. Two conditions hold for each L (docs/design/0010-controller.md):
 *
 * 1. After a leader is killed, another replica renews the cluster's Lease before it expires: L - L/4 is left, and the
 *    takeover takes L/2 + 2 x 1.2 x L/15 = 0.66 L.
 * 2. The leader may write at any time: its election is valid for another 0.98 x L/2 - 1.2 x L/15 = 0.41 L, and a write
 *    takes 4/15 L at most.
 *
 * With L over 30 the times of the election do not grow, so that a takeover takes seconds. PURE.
 */
export function leaseTimes(seconds: number): LeaseTimes {
  const ms = seconds * 1000;
  return {
    // The kubelet's ratio (nodeLeaseDurationSeconds).
    renewEvery: ms / 4,
    election: Math.min(LEASE_MS, Math.floor(seconds / 2) * 1000),
    electEvery: Math.min(RENEW_MS, ms / 15),
    longestWrite: Math.min(LONGEST_WRITE_MS, (ms * 4) / 15),
  };
}
