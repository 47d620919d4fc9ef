import type { Clock } from "../../common/clock.ts";
import type { ClusterFact, ClusterState } from "../model/facts.ts";
import { LeaseExpiry, type LeaseStatus } from "./lease-expiry.ts";

/** Lease duration in seconds of a cluster whose Lease was not seen yet. */
export const LEASE_SECONDS = 30;

/** The state of a cluster. */
export interface ClusterStatus extends LeaseStatus {
  /** The last holder of its Lease (`ClusterFact.uid`); absent until one was seen. */
  readonly uid?: string;
}

/** What `ClusterLiveness` reports. */
export interface ClusterLivenessEvents {
  /** A cluster became stale or alive. */
  turned(cluster: string, status: ClusterStatus): void;
  /** `isSilent` is true now. */
  silent(cluster: string): void;
  /** The holder of the Lease changed: the cluster was rebuilt, or another one has the same ID. */
  replaced(cluster: string, uid: string, before: string): void;
}

/** Tracks which clusters are alive: those whose Lease changes within its duration, by the local monotonic clock. */
export class ClusterLiveness {
  readonly #events: ClusterLivenessEvents;
  readonly #leases: LeaseExpiry;
  /** The last Lease holder of each tracked cluster. */
  readonly #uids = new Map<string, string | undefined>();

  constructor(clock: Clock, events: ClusterLivenessEvents) {
    this.#events = events;
    this.#leases = new LeaseExpiry(
      clock,
      (cluster, status) => events.turned(cluster, this.#withHolder(cluster, status)),
      (cluster) => events.silent(cluster),
    );
  }

  /** Starts tracking a cluster. `was`: its state before a restart; a stale cluster stays stale until it renews its Lease. */
  expect(cluster: string, was: ClusterState = "alive"): void {
    this.#uids.set(cluster, this.#uids.get(cluster));
    this.#leases.expect(cluster, LEASE_SECONDS, was);
  }

  /**
   * A Lease was listed or has changed. `isCurrent`: the cluster's records are up to date. Otherwise a stale cluster stays
   * stale for a Lease duration of renewals, in which it can publish its present endpoints.
   */
  seen({ id, uid, renewal, leaseSeconds }: ClusterFact, isCurrent = true): void {
    const before = this.#uids.get(id);
    this.#uids.set(id, uid);
    this.#leases.seen(id, `${uid} ${renewal}`, leaseSeconds, isCurrent);
    if (before !== undefined && before !== uid) this.#events.replaced(id, uid, before);
  }

  /** Stops tracking a cluster. */
  forget(cluster: string): void {
    this.#uids.delete(cluster);
    this.#leases.forget(cluster);
  }

  /** Undefined if the cluster is not tracked. */
  status(cluster: string): ClusterStatus | undefined {
    const status = this.#leases.status(cluster);
    return status && this.#withHolder(cluster, status);
  }

  /** As in `LeaseExpiry`. */
  silence(cluster: string): number | undefined {
    return this.#leases.silence(cluster);
  }

  /** As in `LeaseExpiry`. */
  isSilent(cluster: string): boolean {
    return this.#leases.isSilent(cluster);
  }

  stop(): void {
    this.#leases.stop();
  }

  #withHolder(cluster: string, status: LeaseStatus): ClusterStatus {
    const uid = this.#uids.get(cluster);
    return { ...status, ...(uid !== undefined && { uid }) };
  }
}
