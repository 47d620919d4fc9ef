import type { ObjectKey } from "../../api/names.ts";
import type { Clock } from "../../common/clock.ts";
import { TimeSlice } from "../../common/event-loop.ts";
import { isMassLoss } from "../../common/kubernetes/confirm-removals.ts";
import type { Programmed } from "../backends/backend.ts";
import type { VirtualService } from "../plan/virtual-service.ts";
import type { DesiredState } from "./desired-state.ts";
import type { Retained } from "./reconciler-events.ts";

/**
 * Milliseconds for which the rules of an earlier run stay although the first complete lists lack most of their services.
 * Three times as long as a reflector takes to list again: controllers can restore objects, and a rollout, which waits for
 * each node to be ready, can be stopped.
 */
export const RETENTION_MS = 30_000;
/** Milliseconds after which the lists are compared with the kernel again. */
const AGAIN_MS = 5_000;

type ServicesOf = (key: ObjectKey) => readonly VirtualService[];

/** Options of `RetainedRules`. */
export interface RetainedRulesOptions {
  readonly clock: Pick<Clock, "now">;
  /** The rules of some services stay. */
  readonly retained: (what: Omit<Retained, "family">) => void;
  /** The retention is over, and the rules of this many services are deleted; 0 if they are listed again. */
  readonly released: (services: number) => void;
}

/**
 * Holds the first write while the lists lack most services that the kernel holds rules for: a wrong kubeconfig or an etcd
 * that was restored empty must not blank a node. If flags do not allow the VIPs of most, such as another ClusterSet CIDR,
 * it holds the write until that changes: no other list is to be expected, and the rollout must stop at the first node.
 */
export class RetainedRules {
  readonly #options: RetainedRulesOptions;
  #until: number | undefined;
  #services = 0;
  #isRefused = false;
  #settled = false;

  constructor(options: RetainedRulesOptions) {
    this.#options = options;
  }

  /** The number of services that are retained now. */
  get services(): number {
    return this.#services;
  }

  /** Returns the milliseconds until this has to be asked again; 0 if the kernel may be written to. */
  async hold(programmed: Programmed, desired: DesiredState): Promise<number> {
    if (this.#settled) return 0;
    const { clock, retained, released } = this.#options;
    const of = programmed.size;
    const count = (servicesOf: ServicesOf) => listed(programmed, desired, clock, servicesOf);
    const found = await count((key) => desired.services(key).services);
    const lost = of - found;
    const massLoss = isMassLoss(lost, of);
    const isRefused =
      massLoss && isMassLoss((await count((key) => desired.servicesIfAllowed(key))) - found, of);
    this.#until ??= clock.now() + RETENTION_MS;
    const left = isRefused ? AGAIN_MS : this.#until - clock.now();
    if (massLoss && left > 0) {
      if (this.#services === 0 || isRefused !== this.#isRefused) {
        retained({ services: lost, of, ...(!isRefused && { forMs: left }) });
      }
      this.#services = lost;
      this.#isRefused = isRefused;
      return Math.min(left, AGAIN_MS);
    }
    this.#settled = true;
    if (this.#services > 0) released(massLoss ? lost : 0);
    this.#services = 0;
    return 0;
  }
}

/** The number of programmed services that are among those of imports. An import without slices does not count: its slices may be missing. */
async function listed(
  programmed: Programmed,
  desired: DesiredState,
  clock: Pick<Clock, "now">,
  servicesOf: ServicesOf,
): Promise<number> {
  if (programmed.size === 0) return 0;
  const slice = new TimeSlice(clock);
  let found = 0;
  for (const key of desired.keys()) {
    if (slice.expired) await slice.yield();
    if (!desired.hasSlices(key)) continue;
    found += servicesOf(key).filter((service) => programmed.has(service)).length;
  }
  return found;
}
