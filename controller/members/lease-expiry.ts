import { timeOf } from "../../api/parse/time-span.ts";
import type { Reason } from "../../api/reasons.ts";
import type { ClusterState } from "../model/facts.ts";

/** Lease duration in seconds of a cluster whose Lease was not seen yet. */
export const LEASE_SECONDS = 30;
/** Bounds of the accepted Lease duration in seconds. */
export const DURATION_SECONDS = { least: 5, most: 300 } as const;

/** Whether a Lease is renewed in time. */
export interface LeaseStatus {
  readonly state: ClusterState;
  /** `awaited` and `never-renewed`: no renewal was seen yet. */
  readonly reason: Extract<Reason, "renewing" | "awaited" | "lease-silent" | "never-renewed">;
}

/**
 * What is remembered of a Lease. It expires by the local monotonic clock. A renewal is any text that differs from the last
 * one; the time in it counts only for `wasRenewed`.
 */
export interface LeaseMemory {
  readonly status: LeaseStatus;
  /** The duration has passed without a renewal since the Lease is tracked, also if it had expired before. */
  readonly isSilent: boolean;
  /** Milliseconds. */
  readonly duration: number;
  /** The last renewal; absent: none yet. */
  readonly renewal?: string;
  /** Since when the duration counts. */
  readonly since: number;
  /** Start of the present series of renewals that were all in time. */
  readonly steadySince: number;
}

/** A Lease that was not seen yet; `state`: its last known state. */
export function expectLease(
  seconds: number,
  now: number,
  state: ClusterState = "alive",
): LeaseMemory {
  const status = statusOf(state, false);
  return { status, isSilent: false, duration: bounded(seconds), since: now, steadySince: now };
}

/** True if the time of day is within the duration of the renewal that a Lease states, so that no renewal has to be awaited. */
export function wasRenewed(
  { renewal, leaseSeconds }: { readonly renewal: string; readonly leaseSeconds: number },
  today: number,
): boolean {
  const time = timeOf(renewal);
  return time !== undefined && Math.abs(today - time) < bounded(leaseSeconds);
}

/**
 * Takes the Lease as it is now. `returns`: a renewal brings an expired Lease back at once; otherwise it takes renewals for a
 * whole duration.
 */
export function renewLease(
  before: LeaseMemory,
  seen: { readonly uid?: string; readonly renewal: string; readonly leaseSeconds: number },
  now: number,
  returns = true,
): LeaseMemory {
  const lease = { ...before, duration: bounded(seen.leaseSeconds) };
  // Another holder renews it, too.
  const renewal = `${seen.uid} ${seen.renewal}`;
  if (renewal === before.renewal) return lease;
  const isFirst = before.renewal === undefined;
  const isSteady = !isFirst && now - before.since < lease.duration;
  const steadySince = isSteady ? before.steadySince : now;
  const isBack = returns || now - steadySince >= lease.duration;
  const status = statusOf(isBack ? "alive" : before.status.state, true);
  return {
    ...lease,
    ...{ renewal, since: now, steadySince, isSilent: false },
    ...(!isFirst && { status }),
  };
}

/** Compares a Lease with the clock. `isLate`: this process was paused, and may have missed renewals. */
export function checkLease(lease: LeaseMemory, now: number, isLate: boolean): LeaseMemory {
  if (isLate) return { ...lease, since: now };
  if (lease.isSilent || now - lease.since < lease.duration) return lease;
  const { state, reason } = lease.status;
  const status = state === "alive" ? statusOf("stale", reason === "renewing") : lease.status;
  return { ...lease, isSilent: true, status };
}

function statusOf(state: ClusterState, isRenewed: boolean): LeaseStatus {
  if (state === "alive") return { state, reason: isRenewed ? "renewing" : "awaited" };
  return { state, reason: isRenewed ? "lease-silent" : "never-renewed" };
}

function bounded(seconds: number): number {
  const { least, most } = DURATION_SECONDS;
  return Math.min(Math.max(seconds, least), most) * 1000;
}
