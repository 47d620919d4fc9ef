import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { Follower } from "../sync/follower.ts";
import { type SweepOptions, Sweeps } from "./sweeps.ts";
import { targetOf } from "./target.ts";
import type { TargetIndex } from "./target-index.ts";
import { Targets } from "./targets.ts";

/** What a follower is made of. */
export interface ConntrackFollowerOptions extends Omit<SweepOptions, "targets"> {
  /** The ClusterSet CIDR of the family. */
  readonly range: Cidr;
}

/**
 * Keeps the connection tracking of one family right: after what may have made entries wrong, and after every
 * complete pass, the first included, it has the table walked through. A restart cuts nothing that is right,
 * because entries are judged by what is live, not by what has changed.
 */
export class ConntrackFollower implements Follower {
  readonly #targets: Targets;
  readonly #sweeps: Sweeps;
  #proposed: TargetIndex;

  constructor({ range, ...options }: ConntrackFollowerOptions) {
    this.#targets = new Targets(range);
    this.#proposed = this.#targets.proposal();
    this.#sweeps = new Sweeps({ ...options, targets: this.#targets });
  }

  proposed(key: ObjectKey, services: readonly VirtualService[]): void {
    this.#proposed.set(key, services.map(targetOf));
  }

  accepted(complete: boolean): void {
    const concern = this.#targets.accept(this.#proposed, complete);
    this.#proposed = this.#targets.proposal();
    if (concern !== undefined) this.#sweeps.ask(concern);
  }

  failed(): void {
    this.#proposed = this.#targets.proposal();
  }

  /** Gives up the walk that is under way, and begins no other. */
  stop(): Promise<void> {
    return this.#sweeps.stop();
  }
}
