import { LONGEST_WRITE_MS } from "../../common/kubernetes/writer.ts";
import { LEASE_MS, RENEW_MS } from "../../common/lease/leader-elector.ts";

/** Everything that follows from how long a cluster may be silent. Milliseconds. */
export interface LeaseTimes {
  /** From one renewal of the cluster's Lease to the next. */
  readonly renewEvery: number;
  /** What one renewal of the election's Lease is good for; whole seconds, as a Lease has it. */
  readonly election: number;
  /** From one renewal of it to the next, and between two looks of who does not lead; up to a fifth more by chance. */
  readonly electEvery: number;
  /** What one write may take: who leads must do so until it has ended. */
  readonly longestWrite: number;
}

/**
 * Seconds of silence that an operator may choose from. Six are a second and a half for a write (`longestWrite`): less, and
 * an API server under load would be taken for one that does not answer.
 */
export const LEASE_CHOICE = { least: 6, most: 300 } as const;

/**
 * The times of a cluster that may be silent for so many seconds (L). Two things must hold, whatever L is:
 *
 * 1. Where a leader is killed, another one renews the cluster's Lease before readers take the cluster for stale. At worst
 *    the leader was about to renew, so L - L/4 is left. The other one saw the election's Lease change up to one wait late,
 *    takes it when it has not changed for its time, and finds that one wait late: L/2 + 2 x 1.2 x L/15 = 0.66 L. That
 *    leaves 0.09 L for five requests, 2.7 s of 30.
 * 2. Who leads may write at any time: right before a renewal is due, its election is good for 0.98 x L/2 - 1.2 x L/15 =
 *    0.41 L (0.98: clocks drift), and a write may take 4/15 L.
 *
 * Nothing grows beyond what is usual for L = 30, so that with a long L a killed leader is not missed for minutes. PURE.
 */
export function leaseTimes(seconds: number): LeaseTimes {
  const ms = seconds * 1000;
  return {
    // As often as a kubelet renews a Node's Lease (nodeLeaseDurationSeconds).
    renewEvery: ms / 4,
    election: Math.min(LEASE_MS, Math.floor(seconds / 2) * 1000),
    electEvery: Math.min(RENEW_MS, ms / 15),
    longestWrite: Math.min(LONGEST_WRITE_MS, (ms * 4) / 15),
  };
}
