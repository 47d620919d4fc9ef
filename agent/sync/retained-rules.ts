import type { Clock } from "../../common/clock.ts";
import { TimeSlice } from "../../common/event-loop.ts";
import { isMassLoss } from "../../common/mass-loss.ts";
import type { Programmed } from "../backends/backend.ts";
import type { DesiredState } from "./desired-state.ts";

/**
 * Milliseconds for which the rules of an earlier run stay although the first complete lists lack most of their services.
 * Three times as long as a reflector takes to list again: controllers can restore objects, and a rollout, which waits for
 * each node to be ready, can be stopped.
 */
export const RETENTION_MS = 30_000;
/** Milliseconds after which the lists are compared with the kernel again. */
const AGAIN_MS = 5_000;

/** Options of `RetainedRules`. */
export interface RetainedRulesOptions {
  readonly clock: Pick<Clock, "now">;
  /** The lists lack this many of the services that the kernel holds; their rules stay. */
  readonly retained: (services: number, of: number) => void;
  /** The retention is over, and the rules of this many services are deleted; 0 if they are listed again. */
  readonly released: (services: number) => void;
}

/**
 * Holds the first write while the lists lack most services that the kernel holds rules for: a wrong kubeconfig or an etcd
 * that was restored empty must not blank a node.
 */
export class RetainedRules {
  readonly #options: RetainedRulesOptions;
  #until: number | undefined;
  #services = 0;
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
    const lost = programmed.size - (await listed(programmed, desired, clock));
    const massLoss = isMassLoss(lost, programmed.size);
    this.#until ??= clock.now() + RETENTION_MS;
    const left = this.#until - clock.now();
    if (massLoss && left > 0) {
      if (this.#services === 0) retained(lost, programmed.size);
      this.#services = lost;
      return Math.min(left, AGAIN_MS);
    }
    this.#settled = true;
    if (this.#services > 0) released(massLoss ? lost : 0);
    this.#services = 0;
    return 0;
  }
}

/** The number of programmed services that are desired. An import without slices does not count: its slices may be missing. */
async function listed(
  programmed: Programmed,
  desired: DesiredState,
  clock: Pick<Clock, "now">,
): Promise<number> {
  if (programmed.size === 0) return 0;
  const slice = new TimeSlice(clock);
  let found = 0;
  for (const key of desired.keys()) {
    if (slice.expired) await slice.yield();
    if (!desired.hasSlices(key)) continue;
    found += desired.services(key).services.filter((service) => programmed.has(service)).length;
  }
  return found;
}
