import { fieldAt } from "../../api/parse/fields.ts";
import type { Reason } from "../../api/reasons.ts";
import type { Clock } from "../../common/clock.ts";
import type { FaultReason } from "../../common/kubernetes/api-fault.ts";
import type { ReflectorReason, ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import { Heartbeats } from "./heartbeats.ts";

/** Namespace and name of the Lease that kube-controller-manager's leader renews every two seconds. */
export const CONTROLLERS_LEASE = {
  namespace: "kube-system",
  name: "kube-controller-manager",
} as const;

/** Seconds that its Lease is good for where it does not say (kube-controller-manager --leader-elect-lease-duration). */
const CONTROLLERS_SECONDS = 15;

/** Faults with which nothing is heard of what happens. With all others something has answered. */
const DEAF = [
  "unreachable",
  "stalled",
  "server-error",
  "throttled",
  "no-credentials",
  "unauthorized",
  "forbidden",
] as const satisfies readonly FaultReason[];

/** Why there is no contact. */
export type LossReason = (typeof DEAF)[number] | Extract<Reason, "controllers-silent">;

/** Who hears of contact. */
export interface ContactEvents {
  /** From now on what is known is what was known. Once until `regained`. */
  lost(reason: LossReason): void;
  /** Everything is heard again, `ms` milliseconds after the loss was noticed. */
  regained(ms: number): void;
}

/**
 * Whether we hear what happens in a cluster: from its API server, and from its controllers, whose word on readiness is
 * all that the API server has. An API server that stands still says nothing, and a watch finds that only after minutes;
 * a request that is not answered, or the silent Lease of kube-controller-manager, tells within seconds: every replica
 * asks for the Lease of its election every two. A Lease that nobody was seen to renew tells nothing.
 */
export class Contact {
  readonly #clock: Clock;
  readonly #events: ContactEvents;
  readonly #controllers: Heartbeats;
  /** Who is not heard. */
  readonly #deaf = new Set<string>();
  #since = 0;
  #isStopped = false;

  constructor({ clock, events }: { readonly clock: Clock; readonly events: ContactEvents }) {
    this.#clock = clock;
    this.#events = events;
    this.#controllers = new Heartbeats({
      clock,
      turned: (name, { alive, renewed }) => {
        if (alive) this.#hear(name);
        else if (renewed) this.#lose(name, "controllers-silent");
      },
    });
  }

  /** How a reflector of the API server is from now on; `source` tells it from whoever else speaks to it. */
  state(source: string, { reason }: Pick<ReflectorState, "reason">): void {
    const deaf = deafOf(reason);
    if (deaf !== undefined) this.#lose(source, deaf);
    // A list that has only begun, or is doubted, has told nothing yet.
    else if (reason === "watching") this.#hear(source);
  }

  /**
   * A request that `source` makes every few seconds, such as the renewal of a Lease, was answered, or why it was not.
   * An answer that refuses it is one. It tells sooner than a watch that an API server stands still.
   */
  asked(source: string, fault?: FaultReason): void {
    const deaf = fault && deafOf(fault);
    if (deaf !== undefined) this.#lose(source, deaf);
    else this.#hear(source);
  }

  /** `CONTROLLERS_LEASE` as it was listed or has changed. One that is deleted is one that is silent. */
  controllers(lease: unknown): void {
    const seconds = fieldAt(lease, "spec", "leaseDurationSeconds");
    const renewal = fieldAt(lease, "spec", "renewTime");
    this.#controllers.beat(
      CONTROLLERS_LEASE.name,
      String(renewal),
      typeof seconds === "number" ? seconds : CONTROLLERS_SECONDS,
    );
  }

  /** Tells of nothing any more. */
  stop(): void {
    this.#isStopped = true;
    this.#controllers.stop();
  }

  #lose(source: string, reason: LossReason): void {
    const first = this.#deaf.size === 0;
    this.#deaf.add(source);
    if (!first || this.#isStopped) return;
    this.#since = this.#clock.now();
    this.#events.lost(reason);
  }

  #hear(source: string): void {
    if (!this.#deaf.delete(source) || this.#deaf.size > 0 || this.#isStopped) return;
    this.#events.regained(this.#clock.now() - this.#since);
  }
}

function deafOf(reason: ReflectorReason | FaultReason): (typeof DEAF)[number] | undefined {
  return DEAF.find((known) => known === reason);
}
