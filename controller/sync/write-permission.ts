import type { Reason } from "../../api/reasons.ts";
import type { FaultReason } from "../../common/kubernetes/api-fault.ts";
import type { ApiServer } from "../../common/kubernetes/api-server.ts";
import type { ApiWriterOptions } from "../../common/kubernetes/writer.ts";
import { LeaderElector } from "../../common/lease/leader-elector.ts";
import { type LeaseTimes, leaseTimes } from "../liveness/lease-times.ts";
import type { ControllerOptions } from "./controller-options.ts";
import type { IdentitySource } from "./identity-source.ts";

/** How an API server is written to, by any field manager. */
export type Writing = Omit<ApiWriterOptions, "fieldManager">;

/** Dependencies of a `WritePermission`. */
export interface WritePermissionOptions extends ControllerOptions {
  readonly identity: IdentitySource;
  /** True once it is known what this cluster published. */
  readonly isKnown: () => boolean;
  /** The API server answered a request for the election Lease, or failed. */
  readonly asked: (fault?: FaultReason) => void;
  /** The permission was granted or withdrawn. */
  readonly turned: (isGranted: boolean) => void;
}

/**
 * The permission to write: the local cluster is listed and its identity known, its registry is listed or cannot be
 * (`ImportedBefore`), and this replica is the leader.
 */
export class WritePermission {
  readonly #options: WritePermissionOptions;
  readonly elector: LeaderElector;
  readonly #times: LeaseTimes;
  #isGranted = false;
  #isEnded = false;

  constructor(options: WritePermissionOptions) {
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
          this.update();
        },
        looked: () => {
          asked();
          events.electionReached();
        },
        failed: (fault) => {
          asked(fault.reason);
          events.electionFailed(fault);
        },
      },
    });
  }

  get isGranted(): boolean {
    return this.#isGranted;
  }

  /** What is missing; undefined if nothing is. */
  get lacks(): Reason | undefined {
    const { identity, isKnown } = this.#options;
    if (identity.state === undefined) return "not-listed";
    if (identity.state.reason !== "identified") return identity.state.reason;
    if (!isKnown()) return "not-listed";
    if (this.elector.isLeader()) return undefined;
    const { reason } = this.elector.state ?? { reason: "standby" };
    return reason === "leader" ? "not-renewed" : reason;
  }

  /** True once the replica is stopping. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Options of a writer that asks for the permission right before each write. */
  writing(api: ApiServer): Writing {
    const { clock } = this.#options;
    const permit = (ms: number): boolean => this.#isGranted && this.elector.isLeader(ms);
    return { api, clock, within: this.#times.longestWrite, permit };
  }

  /** Evaluates the conditions again. */
  update(): void {
    const { turned } = this.#options;
    const isGranted = !this.#isEnded && this.lacks === undefined;
    if (isGranted === this.#isGranted) return;
    this.#isGranted = isGranted;
    turned(isGranted);
  }

  /** The permission is not granted again; writes in progress continue until the election is left. */
  end(): void {
    this.#isEnded = true;
  }
}
