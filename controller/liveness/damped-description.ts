import type { Cancel, Clock } from "../../common/clock.ts";
import type { ClusterFact } from "../model/facts.ts";

/** Milliseconds between two changes: each rewrites all slices that are imported from the cluster. */
const DAMPED_MS = 30_000;

/** What every imported slice of a cluster depends on. */
export type ClusterDescription = Pick<ClusterFact, "drain" | "properties" | "region">;

/** Region, properties and drain of a cluster as its imports use them: a change applies at once, the next ones 30 s after it. */
export class DampedDescription {
  readonly #clock: Clock;
  readonly #changed: () => void;
  #latest: ClusterDescription | undefined;
  #current: ClusterDescription | undefined;
  #changedAt = Number.NEGATIVE_INFINITY;
  #cancel: Cancel | undefined;

  /** `changed`: called after `current` has changed. */
  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** Undefined until the cluster's Lease was read, or if it is not valid. */
  get current(): ClusterDescription | undefined {
    return this.#current;
  }

  /** True if nothing that rewrites all slices of the cluster has changed for 30 s. */
  get isSettled(): boolean {
    return this.#clock.now() - this.#changedAt >= DAMPED_MS;
  }

  /** Another change that rewrites them: the next one waits. */
  touch(): void {
    this.#changedAt = this.#clock.now();
  }

  /** What the cluster's Lease says; undefined if there is no valid one. */
  observe(cluster: ClusterDescription | undefined): void {
    this.#latest = cluster && descriptionOf(cluster);
    this.#try();
  }

  stop(): void {
    this.#cancel?.();
  }

  #try(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const wait = this.#changedAt + DAMPED_MS - this.#clock.now();
    if (wait <= 0) this.#apply();
    else this.#cancel = this.#clock.after(wait, () => this.#try());
  }

  #apply(): void {
    if (textOf(this.#latest) === textOf(this.#current)) return;
    const isFirst = this.#current === undefined;
    this.#current = this.#latest;
    this.#changed();
    // The first one is no change: a Lease is read after the start.
    if (!isFirst) this.touch();
  }
}

function descriptionOf({ drain, properties, region }: ClusterDescription): ClusterDescription {
  return {
    properties,
    ...(region !== undefined && { region }),
    ...(drain !== undefined && { drain }),
  };
}

function textOf(description: ClusterDescription | undefined): string {
  const { drain = null, properties = null, region = null } = description ?? {};
  return JSON.stringify([region, properties, drain]);
}
