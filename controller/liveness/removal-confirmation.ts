import type { Clock } from "../../common/clock.ts";
import type { ClusterFact } from "../model/facts.ts";

/** Milliseconds by which a watch of Leases may be ahead of those of records. */
const AHEAD_MS = 1500;

/**
 * Whether a name that a registry lacks is known not to be exported. The API server of a registry may have been restored
 * from a backup or rebuilt, so an absence counts only when the cluster marks its Lease complete (`ClusterFact.complete`).
 *
 * At the start the last mark counts. After a lost connection it takes two marked renewals, some time apart, while the
 * whole registry is watched: a listed Lease may have been written to a server that is gone.
 */
export class RemovalConfirmation {
  readonly #clock: Clock;
  readonly #given: () => void;
  #isGiven = false;
  #isRewound = false;
  #isWatched = false;
  #wasWatched = false;
  #wasGiven = false;
  /** When the first mark since the connection was lost arrived. */
  #markedAt: number | undefined;
  #renewal: string | undefined;
  #isComplete = false;

  /** `given`: called each time that the confirmation is given. */
  constructor(clock: Clock, given: () => void) {
    this.#clock = clock;
    this.#given = given;
  }

  /** True while a name that the registry lacks is known not to be exported. */
  get isGiven(): boolean {
    return this.#isGiven;
  }

  /** True if it was ever given. */
  get wasGiven(): boolean {
    return this.#wasGiven;
  }

  /** True while the registry may show an old state. */
  get isRewound(): boolean {
    return this.#isRewound;
  }

  /** The connection has changed; `isWatched`: the whole registry is watched. */
  connected(isWatched: boolean): void {
    this.#isWatched = isWatched;
    if (!isWatched) this.#withdraw();
    else if (!this.#wasWatched) {
      this.#wasWatched = true;
      if (this.#isComplete) this.#give();
    }
  }

  /** The API server's state is older than before. */
  rewound(): void {
    this.#withdraw();
    this.#isRewound = true;
    this.#wasWatched = true;
  }

  /** The cluster's Lease; undefined if there is no valid one. */
  renewed(cluster: ClusterFact | undefined): void {
    const renewal = cluster && `${cluster.uid} ${cluster.renewal}`;
    const isNew = renewal !== this.#renewal;
    this.#renewal = renewal;
    this.#isComplete = cluster?.complete === true;
    if (!this.#isComplete) this.#withdraw();
    else if (isNew && this.#isWatched) {
      const now = this.#clock.now();
      this.#markedAt ??= now;
      if (!this.#wasGiven || now - this.#markedAt >= AHEAD_MS) this.#give();
    }
  }

  #withdraw(): void {
    this.#isGiven = false;
    this.#markedAt = undefined;
  }

  #give(): void {
    if (this.#isGiven) return;
    this.#isGiven = true;
    this.#wasGiven = true;
    this.#isRewound = false;
    this.#given();
  }
}
