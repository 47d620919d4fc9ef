import type { Reason } from "../../api/reasons.ts";
import type { Clock } from "../../common/clock.ts";
import type { ClusterFact, ClusterState } from "../model/facts.ts";
import { Heartbeats, type Pulse } from "./heartbeats.ts";

/** Seconds within which a cluster must renew its Lease before any Lease of it has said how many. */
export const LEASE_SECONDS = 30;

/** How a cluster is seen, and why. */
export interface ClusterSight {
  readonly state: ClusterState;
  readonly reason: LivenessReason;
  /** Who renewed its Lease last (`ClusterFact.uid`); absent until one was seen. */
  readonly uid?: string;
}

/** Reasons that a cluster's state may carry. */
export type LivenessReason = Extract<
  Reason,
  "renewing" | "awaited" | "lease-silent" | "never-renewed"
>;

/** Who hears of clusters. */
export interface ClusterWatchEvents {
  /** A cluster is stale from now on, or alive again. Told once each. */
  turned(cluster: string, sight: ClusterSight): void;
  /** Somebody else than before renews the Lease: the cluster was rebuilt, or another one has the same id. */
  replaced(cluster: string, uid: string, before: string): void;
}

/** What a `ClusterWatch` is made of. */
export interface ClusterWatchOptions {
  readonly clock: Clock;
  readonly events: ClusterWatchEvents;
}

/**
 * Which clusters are alive: those whose Lease is seen to change within its time, by our own monotonic clock. Nobody's
 * wall clock matters. A Lease that is deleted is a silent one: nothing is to be told here of that. Silence is all that
 * this knows; nothing is ever deleted for it.
 */
export class ClusterWatch {
  readonly #events: ClusterWatchEvents;
  readonly #hearts: Heartbeats;
  /** Of every cluster that is watched, who renewed its Lease last. */
  readonly #uids = new Map<string, string | undefined>();

  constructor({ clock, events }: ClusterWatchOptions) {
    this.#events = events;
    this.#hearts = new Heartbeats({
      clock,
      turned: (cluster, pulse) => events.turned(cluster, this.#sight(cluster, pulse)),
    });
  }

  /**
   * Watches a cluster from now on, whether it has a Lease or not. `was`: what was believed of it before we started, as
   * its slices here tell; one that was stale stays so until it renews, or a restart of ours would send clients there.
   */
  expect(cluster: string, was: ClusterState = "alive"): void {
    this.#uids.set(cluster, this.#uids.get(cluster));
    this.#hearts.expect(cluster, LEASE_SECONDS, was === "alive");
  }

  /**
   * Its Lease, as it was listed or has changed. `assured`: what is known of its exports is what it exports now. Else, if it is
   * stale, what is known are endpoints that it may have died with: it stays so for a Lease's time of renewals, in which it
   * can publish those that it has.
   */
  seen({ id, uid, renewal, leaseSeconds }: ClusterFact, assured = true): void {
    const before = this.#uids.get(id);
    this.#uids.set(id, uid);
    this.#hearts.beat(id, `${uid} ${renewal}`, leaseSeconds, assured);
    if (before !== undefined && before !== uid) this.#events.replaced(id, uid, before);
  }

  /** It was removed from the clusterset, by a person: it is neither alive nor stale. */
  forget(cluster: string): void {
    this.#uids.delete(cluster);
    this.#hearts.forget(cluster);
  }

  /** How a cluster is; undefined if it is not watched. */
  sight(cluster: string): ClusterSight | undefined {
    const pulse = this.#hearts.pulse(cluster);
    return pulse && this.#sight(cluster, pulse);
  }

  /** Tells of nothing any more. */
  stop(): void {
    this.#hearts.stop();
  }

  #sight(cluster: string, { alive, renewed }: Pulse): ClusterSight {
    const uid = this.#uids.get(cluster);
    return {
      state: alive ? "alive" : "stale",
      reason: reasonOf(alive, renewed),
      ...(uid !== undefined && { uid }),
    };
  }
}

function reasonOf(alive: boolean, renewed: boolean): LivenessReason {
  if (alive) return renewed ? "renewing" : "awaited";
  return renewed ? "lease-silent" : "never-renewed";
}
