import type { Clock } from "../../common/clock.ts";
import type { ClusterFact } from "../model/facts.ts";

/** Milliseconds by which a watch of Leases may be ahead of those of records: nothing orders them. */
const AHEAD_MS = 1500;

/**
 * Whether what a registry lacks is not exported. An API server that was restored from a backup, or built anew, lists with
 * success what is older than what was seen, or nothing; and so does one whose publisher has said already that it lives,
 * and has not written its records yet. Only the cluster itself knows: it says with a renewal of its Lease that all that it
 * exports lies there (`ClusterFact.complete`).
 *
 * At the start its last word counts. Once a connection was lost, it takes renewals that are seen to arrive while all of
 * the registry is watched: what a list shows may have been said to a server that is no more. It takes two, and
 * some time between them: the watch of Leases may be ahead of those of records.
 */
export class Assurance {
  readonly #clock: Clock;
  readonly #given: () => void;
  #isGiven = false;
  #isRewound = false;
  #isWatched = false;
  #wasWatched = false;
  #wasGiven = false;
  /** When it has said first, since a connection was lost, that all is there. */
  #said: number | undefined;
  /** Its last renewal, and what that says. */
  #renewal: string | undefined;
  #isComplete = false;

  /** `given`: it is given, or given again. */
  constructor(clock: Clock, given: () => void) {
    this.#clock = clock;
    this.#given = given;
  }

  /** True while what the registry lacks is not exported. */
  get isGiven(): boolean {
    return this.#isGiven;
  }

  /** True if it has ever been given: what is not known by now was not exported then. */
  get wasGiven(): boolean {
    return this.#wasGiven;
  }

  /** True if what it holds may be what was true long ago. */
  get isRewound(): boolean {
    return this.#isRewound;
  }

  /** How the registry is read: all of it is watched, or not. */
  connected(isWatched: boolean): void {
    this.#isWatched = isWatched;
    if (!isWatched) this.#take();
    else if (!this.#wasWatched) {
      this.#wasWatched = true;
      if (this.#isComplete) this.#give();
    }
  }

  /** The server is older than it was. */
  rewound(): void {
    this.#take();
    this.#isRewound = true;
    this.#wasWatched = true;
  }

  /** What the cluster's Lease says; undefined: there is none, or none that can be believed. */
  renewed(cluster: ClusterFact | undefined): void {
    const renewal = cluster && `${cluster.uid} ${cluster.renewal}`;
    const isNew = renewal !== this.#renewal;
    this.#renewal = renewal;
    this.#isComplete = cluster?.complete === true;
    if (!this.#isComplete) this.#take();
    else if (isNew && this.#isWatched) {
      const now = this.#clock.now();
      this.#said ??= now;
      if (!this.#wasGiven || now - this.#said >= AHEAD_MS) this.#give();
    }
  }

  #take(): void {
    this.#isGiven = false;
    this.#said = undefined;
  }

  #give(): void {
    if (this.#isGiven) return;
    this.#isGiven = true;
    this.#wasGiven = true;
    this.#isRewound = false;
    this.#given();
  }
}
