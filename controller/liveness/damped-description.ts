import type { Cancel, Clock } from "../../common/clock.ts";
import type { ClusterFact } from "../model/facts.ts";

/** Milliseconds between two changes: each rewrites all slices that are imported from the cluster. */
const DAMPED_MS = 30_000;
/** Statements of a cluster that are remembered. With more of them, none counts as the first: a cluster may invent properties without end. */
const MOST_STATEMENTS = 32;

/** What every imported slice of a cluster depends on. */
export type ClusterDescription = Pick<ClusterFact, "drain" | "properties" | "region">;

/**
 * Region, properties and drain of a cluster as its imports use them: a change applies at once, the next ones 30 s after it. The first statement of
 * something, such as the region of a cluster that joins, always applies at once: ClusterProperties are seen one after the other.
 */
export class DampedDescription {
  readonly #clock: Clock;
  readonly #changed: () => void;
  #latest: ClusterDescription | undefined;
  #current: ClusterDescription | undefined;
  /** What the cluster has stated since the start, whatever it said. */
  readonly #stated = new Set<string>();
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
    if (wait <= 0 || this.#isFirst()) this.#apply();
    else this.#cancel = this.#clock.after(wait, () => this.#try());
  }

  #apply(): void {
    if (textOf(this.#latest) === textOf(this.#current)) return;
    const isFirst = this.#isFirst();
    this.#current = this.#latest;
    for (const name of statementsOf(this.#current).keys()) {
      if (this.#stated.size <= MOST_STATEMENTS) this.#stated.add(name);
    }
    this.#changed();
    // No change: a Lease is read after the start.
    if (!isFirst) this.touch();
  }

  /** True if the latest description only adds what the cluster has never stated before. */
  #isFirst(): boolean {
    if (this.#stated.size > MOST_STATEMENTS) return false;
    const before = statementsOf(this.#current);
    const next = statementsOf(this.#latest);
    return (
      before.entries().every(([name, text]) => next.get(name) === text) &&
      next.keys().every((name) => before.has(name) || !this.#stated.has(name))
    );
  }
}

/** What a cluster states, by name. */
function statementsOf(description: ClusterDescription | undefined): Map<string, string> {
  if (description === undefined) return new Map();
  const { drain, properties, region } = description;
  return new Map([
    // There is a valid Lease.
    ["described", ""],
    ...Object.entries(properties).map(([name, text]): [string, string] => [
      `property ${name}`,
      text,
    ]),
    ...(region === undefined ? [] : [["region", region] as const]),
    ...(drain === undefined ? [] : [["drain", JSON.stringify(drain)] as const]),
  ]);
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
