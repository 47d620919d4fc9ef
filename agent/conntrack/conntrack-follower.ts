import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Cancel, Clock } from "../../common/clock.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { Follower } from "../sync/reconciler-events.ts";
import { type CleanupOptions, CleanupSchedule } from "./cleanup-schedule.ts";
import type { EndpointRemoval } from "./endpoint-removal.ts";
import { programmedPort } from "./programmed-port.ts";
import { ProgrammedState } from "./programmed-state.ts";

/** What a follower is made of. */
export interface ConntrackFollowerOptions extends Omit<CleanupOptions, "state"> {
  /** The ClusterSet CIDRs of the family. */
  readonly ranges: readonly Cidr[];
}

/**
 * Milliseconds for which a removed endpoint may still answer a SYN. Longer than a round trip (600 by satellite), so that
 * no answer under way is cut. Shorter than the second after which TCP repeats the SYN (RFC 6298, 2.1), so that the
 * repetition goes to another endpoint.
 */
const ANSWER_MS = 800;

/**
 * Deletes stale conntrack entries of one family: after each change that may have made entries stale, after every complete
 * pass, and once endpoints that were removed can answer no more. A restart deletes nothing that is right, because entries
 * are compared with the live state and not with what has changed.
 */
export class ConntrackFollower implements Follower {
  readonly #state: ProgrammedState;
  readonly #schedule: CleanupSchedule;
  readonly #clock: Clock;
  readonly #timers = new Set<Cancel>();
  #stopped = false;

  constructor({ ranges, ...options }: ConntrackFollowerOptions) {
    this.#state = new ProgrammedState(ranges);
    this.#clock = options.clock;
    this.#schedule = new CleanupSchedule({ ...options, state: this.#state });
  }

  found(destinations: Iterable<string>): void {
    this.#state.found(destinations);
  }

  proposed(key: ObjectKey, services: readonly VirtualService[]): void {
    this.#state.propose(key, services.map(programmedPort));
  }

  kept(services: readonly VirtualService[]): void {
    this.#state.keep(services.map(programmedPort));
  }

  accepted(complete: boolean): void {
    const { stale, isUrgent, removal } = this.#state.accept(complete);
    if (this.#stopped) return;
    if (stale !== undefined) this.#schedule.request(stale, isUrgent);
    if (removal !== undefined) this.#expireLater(removal);
  }

  failed(): void {
    this.#state.fail();
  }

  /** Cancels the cleanup under way and starts no other. */
  stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    return this.#schedule.stop();
  }

  #expireLater(removal: EndpointRemoval): void {
    const cancel = this.#clock.after(ANSWER_MS, () => {
      this.#timers.delete(cancel);
      this.#state.removals.expire(removal);
      this.#schedule.request(removal.scope);
    });
    this.#timers.add(cancel);
  }
}
