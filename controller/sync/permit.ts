import type { FaultReason } from "../../common/kubernetes/api-fault.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import { LeaderElector } from "../../common/lease/leader-elector.ts";
import { type LeaseTimes, leaseTimes } from "../liveness/lease-times.ts";
import type { ControllerOptions } from "./controller-options.ts";
import type { Members } from "./members.ts";
import type { PermitReason } from "./permit-reason.ts";
import type { WhoWeAre } from "./who-we-are.ts";
import type { Writing } from "./writing.ts";

/** What a `Permit` is made of. */
export interface PermitOptions
  extends Pick<ControllerOptions, "api" | "clock" | "config" | "random" | "replica" | "today"> {
  readonly events: Pick<ControllerOptions["events"], "electionFailed" | "leader">;
  readonly who: WhoWeAre;
  readonly members: Members;
  /** The API server was asked for the Lease, which it answered, or why it did not. */
  readonly asked: (fault?: FaultReason) => void;
  /** This replica works from now on, or no more. */
  readonly turned: (isWorking: boolean) => void;
}

/**
 * Whether this replica works: it is known who we are, for which all of our own cluster must have been listed; our own
 * registry has been listed; and this replica leads. Before that nothing is written.
 */
export class Permit {
  readonly #options: PermitOptions;
  readonly elector: LeaderElector;
  readonly #times: LeaseTimes;
  #isGranted = false;
  #isEnded = false;

  constructor(options: PermitOptions) {
    const { api, asked, clock, config, events, random, replica, today } = options;
    this.#options = options;
    this.#times = leaseTimes(config.leaseSeconds);
    this.elector = new LeaderElector({
      api,
      clock,
      random,
      today,
      lease: { namespace: config.namespace, name: config.leaderElectionId },
      identity: replica,
      duration: this.#times.election,
      renewEvery: this.#times.electEvery,
      events: {
        state: (state) => {
          events.leader(state);
          this.look();
        },
        looked: () => asked(),
        failed: (fault) => {
          asked(fault.reason);
          events.electionFailed(fault);
        },
      },
    });
  }

  /** True while this replica works. */
  get isGranted(): boolean {
    return this.#isGranted;
  }

  /** Why this replica does not work; undefined if it may. */
  get lacks(): PermitReason | undefined {
    const { members, who } = this.#options;
    if (who.state === undefined) return "not-listed";
    if (who.state.reason !== "identified") return who.state.reason;
    if (members.get(who.state.identity.id)?.listed !== true) return "not-listed";
    if (this.elector.isLeader()) return undefined;
    const { reason } = this.elector.state ?? { reason: "standby" };
    return reason === "leader" ? "not-renewed" : reason;
  }

  /** True once this replica is being stopped: it takes nothing new on. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** How an API server is written to by who has the permit: it is asked right before each write. */
  writing(api: ApiServer): Writing {
    const { clock } = this.#options;
    const permit = (ms: number): boolean => this.#isGranted && this.elector.isLeader(ms);
    return { api, clock, within: this.#times.longestWrite, permit };
  }

  /** Looks again: something that it hangs on may have changed. */
  look(): void {
    const { turned } = this.#options;
    const isGranted = !this.#isEnded && this.lacks === undefined;
    if (isGranted === this.#isGranted) return;
    this.#isGranted = isGranted;
    turned(isGranted);
  }

  /** It is not granted again. What is under way may still be written, until the election is left. */
  end(): void {
    this.#isEnded = true;
  }
}
