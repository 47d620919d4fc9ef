import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { Follower } from "../sync/follower.ts";
import type { Departure } from "./departure.ts";
import { type SweepOptions, Sweeps } from "./sweeps.ts";
import { targetOf } from "./target.ts";
import { Targets } from "./targets.ts";

/** What a follower is made of. */
export interface ConntrackFollowerOptions extends Omit<SweepOptions, "targets"> {
  /** The ClusterSet CIDR of the family. */
  readonly range: Cidr;
}

/**
 * Milliseconds that a SYN may go unanswered after its endpoint has left. Longer than any way there and back (600 by a
 * satellite), so that no answer under way is cut; and so much shorter than the second after which TCP sends the SYN
 * again (RFC 6298, 2.1) that a walk comes in between: even the last SYN that went to the endpoint is
 * sent elsewhere the next time.
 */
const ANSWER_MS = 800;

/**
 * Keeps the connection tracking of one family right: after what may have made entries wrong, and after every
 * complete pass, the first included, it has the table walked through. A restart cuts nothing that is right,
 * because entries are judged by what is live, not by what has changed; while a transaction is being made, whose steps may
 * go live one by one, also by what it holds. A while after endpoints have left, it has
 * the table walked through for what they never answered.
 */
export class ConntrackFollower implements Follower {
  readonly #targets: Targets;
  readonly #sweeps: Sweeps;
  readonly #clock: Clock;
  readonly #waits = new Set<Cancel>();
  #stopped = false;

  constructor({ range, ...options }: ConntrackFollowerOptions) {
    this.#targets = new Targets(range);
    this.#clock = options.clock;
    this.#sweeps = new Sweeps({ ...options, targets: this.#targets });
  }

  proposed(key: ObjectKey, services: readonly VirtualService[]): void {
    this.#targets.propose(key, services.map(targetOf));
  }

  accepted(complete: boolean): void {
    const { wrong, departure } = this.#targets.accept(complete);
    if (this.#stopped) return;
    if (wrong !== undefined) this.#sweeps.ask(wrong);
    if (departure !== undefined) this.#settleLater(departure);
  }

  failed(): void {
    this.#targets.fail();
  }

  /** Gives up the walk that is under way, and begins no other. */
  stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#waits) cancel();
    this.#waits.clear();
    return this.#sweeps.stop();
  }

  #settleLater(departure: Departure): void {
    const cancel = this.#clock.after(ANSWER_MS, () => {
      this.#waits.delete(cancel);
      this.#targets.departures.settle(departure);
      this.#sweeps.ask(departure.concern);
    });
    this.#waits.add(cancel);
  }
}
