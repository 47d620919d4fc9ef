import { fieldAt } from "../../api/parse/fields.ts";
import type { Reason } from "../../api/reasons.ts";
import { type Cancel, type Clock, everySecond } from "../../common/clock.ts";
import type { FaultReason } from "../../common/kubernetes/api-fault.ts";
import type { ReflectorReason, ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import { checkLease, expectLease, type LeaseMemory, renewLease } from "../members/lease-expiry.ts";

/** The Lease that kube-controller-manager's leader renews every two seconds. */
export const CONTROLLERS_LEASE = {
  namespace: "kube-system",
  name: "kube-controller-manager",
} as const;

/** Seconds; kube-controller-manager's default of --leader-elect-lease-duration. */
const CONTROLLERS_SECONDS = 15;

/** Errors without news of the cluster. With all others, the API server has answered. */
const NO_CONTACT = [
  "unreachable",
  "stalled",
  "server-error",
  "throttled",
  "no-credentials",
  "unauthorized",
  "forbidden",
] as const satisfies readonly FaultReason[];

/** Why there is no contact. */
export type LossReason = (typeof NO_CONTACT)[number] | Extract<Reason, "controllers-silent">;

/** What `ControlPlaneContact` reports. */
export interface ControlPlaneContactEvents {
  lost(reason: LossReason): void;
  /** Contact is complete again, `ms` milliseconds after it was lost. */
  regained(ms: number): void;
}

/**
 * Contact with a cluster's control plane: its API server, and kube-controller-manager, on which readiness depends. A
 * watch notices a stopped API server only after minutes; a request without an answer, or an expired Lease of
 * kube-controller-manager, shows it within seconds. A Lease that was never renewed shows nothing.
 */
export class ControlPlaneContact {
  readonly #clock: Clock;
  readonly #events: ControlPlaneContactEvents;
  #controllers: LeaseMemory | undefined;
  #cancel: Cancel | undefined;
  /** Sources without contact. */
  readonly #lost = new Set<string>();
  #since = 0;
  #isStopped = false;

  constructor(clock: Clock, events: ControlPlaneContactEvents) {
    this.#clock = clock;
    this.#events = events;
  }

  /** The state of a reflector. */
  state(source: string, { reason }: Pick<ReflectorState, "reason">): void {
    const loss = lossOf(reason);
    if (loss !== undefined) this.#lose(source, loss);
    // A list in progress, or an unconfirmed one, brings no news yet.
    else if (reason === "watching") this.#regain(source);
  }

  /** The result of a request that `source` makes every few seconds. A rejection is an answer, too. */
  asked(source: string, fault?: FaultReason): void {
    const loss = fault && lossOf(fault);
    if (loss !== undefined) this.#lose(source, loss);
    else this.#regain(source);
  }

  /** `CONTROLLERS_LEASE` was listed or has changed. */
  controllers(lease: unknown): void {
    const seconds = fieldAt(lease, "spec", "leaseDurationSeconds");
    const renewal = String(fieldAt(lease, "spec", "renewTime"));
    const leaseSeconds = typeof seconds === "number" ? seconds : CONTROLLERS_SECONDS;
    const now = (): number => this.#clock.now();
    const before = this.#controllers ?? expectLease(leaseSeconds, now());
    this.#keep(renewLease(before, { renewal, leaseSeconds }, now()));
    this.#cancel ??= everySecond(this.#clock, (isLate) => {
      if (this.#controllers) this.#keep(checkLease(this.#controllers, now(), isLate));
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
  }

  #keep(lease: LeaseMemory): void {
    const before = this.#controllers?.status.state;
    this.#controllers = lease;
    const { state, reason } = lease.status;
    if (before === undefined || before === state) return;
    if (state === "alive") this.#regain(CONTROLLERS_LEASE.name);
    else if (reason === "lease-silent") this.#lose(CONTROLLERS_LEASE.name, "controllers-silent");
  }

  #lose(source: string, reason: LossReason): void {
    const first = this.#lost.size === 0;
    this.#lost.add(source);
    if (!first || this.#isStopped) return;
    this.#since = this.#clock.now();
    this.#events.lost(reason);
  }

  #regain(source: string): void {
    if (!this.#lost.delete(source) || this.#lost.size > 0 || this.#isStopped) return;
    this.#events.regained(this.#clock.now() - this.#since);
  }
}

function lossOf(reason: ReflectorReason | FaultReason): (typeof NO_CONTACT)[number] | undefined {
  return NO_CONTACT.find((known) => known === reason);
}
