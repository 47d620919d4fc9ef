import type { Reason } from "../../api/reasons.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { ClusterState } from "../model/facts.ts";

/** Milliseconds between checks. */
const TICK = 1000;
/** Milliseconds by which a check is late if this process was paused: then renewals may have been missed. */
const LATE = 2000;
/** Bounds of the accepted Lease duration in seconds. */
export const DURATION_SECONDS = { least: 5, most: 300 } as const;

/** Whether a Lease is renewed in time. */
export interface LeaseStatus {
  readonly state: ClusterState;
  /** `awaited` and `never-renewed`: no renewal was seen yet. */
  readonly reason: Extract<Reason, "renewing" | "awaited" | "lease-silent" | "never-renewed">;
}

interface Entry {
  /** Lease duration in milliseconds. */
  duration: number;
  /** The last renewal; undefined: none yet. */
  renewal: string | undefined;
  /** Since when the duration counts. */
  since: number;
  /** Start of the present series of renewals that were all in time. */
  steadySince: number;
  /** The duration has passed without a renewal. */
  isSilent: boolean;
  status: LeaseStatus;
}

/**
 * Detects Leases that expire, by the local monotonic clock. A renewal is any text that differs from the last one; times
 * in it are not read. An expired Lease comes back with a renewal.
 */
export class LeaseExpiry {
  readonly #clock: Clock;
  readonly #turned: (name: string, status: LeaseStatus) => void;
  readonly #silent: (name: string) => void;
  readonly #entries = new Map<string, Entry>();
  #due = 0;
  #cancel: Cancel | undefined;

  /** `turned`: called when a Lease has expired or came back. `silent`: called when `isSilent` becomes true. */
  constructor(
    clock: Clock,
    turned: (name: string, status: LeaseStatus) => void,
    silent: (name: string) => void = () => undefined,
  ) {
    this.#clock = clock;
    this.#turned = turned;
    this.#silent = silent;
  }

  /** Tracks a Lease, unless it is tracked already. `state`: its last known state. */
  expect(name: string, seconds: number, state: ClusterState = "alive"): void {
    if (this.#entries.has(name)) return;
    const since = this.#clock.now();
    const status = statusOf(state, false);
    const entry = { renewal: undefined, since, steadySince: since, isSilent: false, status };
    this.#entries.set(name, { duration: bounded(seconds), ...entry });
    if (this.#cancel === undefined) this.#wait();
  }

  /**
   * The last renewal and the duration of a Lease. `returns`: a renewal brings an expired Lease back at once; otherwise it
   * takes renewals for a whole duration.
   */
  seen(name: string, renewal: string, seconds: number, returns = true): void {
    this.expect(name, seconds);
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    entry.duration = bounded(seconds);
    if (renewal === entry.renewal) return;
    const isFirst = entry.renewal === undefined;
    const now = this.#clock.now();
    if (isFirst || now - entry.since >= entry.duration) entry.steadySince = now;
    entry.renewal = renewal;
    entry.since = now;
    entry.isSilent = false;
    if (isFirst) return;
    const isBack = returns || now - entry.steadySince >= entry.duration;
    this.#become(name, entry, statusOf(isBack ? "alive" : entry.status.state, true));
  }

  forget(name: string): void {
    this.#entries.delete(name);
    if (this.#entries.size === 0) this.stop();
  }

  /** Undefined if the Lease is not tracked. */
  status(name: string): LeaseStatus | undefined {
    return this.#entries.get(name)?.status;
  }

  /** Milliseconds since the last renewal that was seen, or since the Lease is tracked. Undefined if it is not tracked. */
  silence(name: string): number | undefined {
    const entry = this.#entries.get(name);
    return entry && this.#clock.now() - entry.since;
  }

  /** True for a Lease that was not renewed for its duration since it is tracked, also if it had expired before. */
  isSilent(name: string): boolean {
    return this.#entries.get(name)?.isSilent === true;
  }

  /** Stops all checks until the next `expect`. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #wait(): void {
    this.#due = this.#clock.now() + TICK;
    this.#cancel = this.#clock.after(TICK, () => this.#check());
  }

  #check(): void {
    const now = this.#clock.now();
    const late = now - this.#due >= LATE;
    this.#wait();
    for (const [name, entry] of this.#entries) {
      if (late) entry.since = now;
      else if (!entry.isSilent && now - entry.since >= entry.duration) this.#silence(name, entry);
    }
  }

  #silence(name: string, entry: Entry): void {
    entry.isSilent = true;
    if (entry.status.state === "alive") {
      this.#become(name, entry, statusOf("stale", entry.status.reason === "renewing"));
    }
    this.#silent(name);
  }

  #become(name: string, entry: Entry, status: LeaseStatus): void {
    const hasTurned = entry.status.state !== status.state;
    entry.status = status;
    if (hasTurned) this.#turned(name, status);
  }
}

function statusOf(state: ClusterState, isRenewed: boolean): LeaseStatus {
  if (state === "alive") return { state, reason: isRenewed ? "renewing" : "awaited" };
  return { state, reason: isRenewed ? "lease-silent" : "never-renewed" };
}

function bounded(seconds: number): number {
  const { least, most } = DURATION_SECONDS;
  return Math.min(Math.max(seconds, least), most) * 1000;
}
