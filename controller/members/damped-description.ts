import type { ClusterFact } from "../model/facts.ts";

/** Milliseconds between two changes: each rewrites all slices that are imported from the cluster, or the conditions of all exports. */
const DAMPED_MS = 30_000;
/** Statements of a cluster that are remembered. With more of them, none counts as the first: a cluster may invent properties without end. */
const MOST_STATEMENTS = 32;

/** What every imported slice of a cluster depends on. */
export type ClusterDescription = Pick<ClusterFact, "drain" | "properties" | "region">;

/** What is remembered of a cluster's descriptions. */
export interface DescriptionMemory {
  /** As imports use it; absent until the cluster's Lease was read, or if it is not valid. */
  readonly current?: ClusterDescription | undefined;
  /** What the cluster has stated since the start, whatever it said. */
  readonly stated: ReadonlySet<string>;
  /** When something that causes so many writes has changed. */
  readonly changedAt: number;
}

export const NOT_DESCRIBED: DescriptionMemory = {
  stated: new Set(),
  changedAt: Number.NEGATIVE_INFINITY,
};

/** When the next change that causes so many writes may apply. */
export function settledAt({ changedAt }: DescriptionMemory): number {
  return changedAt + DAMPED_MS;
}

/**
 * Takes what a cluster says of itself: a change applies at once, the next ones 30 s after it. The first statement of something, such
 * as the region of a cluster that joins, always applies at once: ClusterProperties are seen one after the other.
 */
export function describeCluster(
  before: DescriptionMemory,
  latest: ClusterDescription | undefined,
  now: number,
): DescriptionMemory {
  if (!isOutdated(before, latest)) return before;
  const isFirst = onlyAddsFirst(before, latest);
  if (!isFirst && now < settledAt(before)) return before;
  const stated = new Set(before.stated);
  for (const name of statementsOf(latest).keys())
    if (stated.size <= MOST_STATEMENTS) stated.add(name);
  // A first statement is no change: a Lease is read after the start.
  const changedAt = isFirst ? before.changedAt : now;
  return { current: latest && descriptionOf(latest), stated, changedAt };
}

/** True if the latest description differs from the one in use. */
export function isOutdated(
  { current }: DescriptionMemory,
  latest: ClusterDescription | undefined,
): boolean {
  return descriptionText(latest) !== descriptionText(current);
}

/** Equal for equal descriptions. */
export function descriptionText(description: ClusterDescription | undefined): string {
  const { drain = null, properties = null, region = null } = description ?? {};
  return JSON.stringify([region, properties, drain]);
}

/** True if the latest description only adds what the cluster has never stated before. */
function onlyAddsFirst(
  { current, stated }: DescriptionMemory,
  latest: ClusterDescription | undefined,
): boolean {
  if (stated.size > MOST_STATEMENTS) return false;
  const [before, next] = [statementsOf(current), statementsOf(latest)];
  return (
    before.entries().every(([name, text]) => next.get(name) === text) &&
    next.keys().every((name) => before.has(name) || !stated.has(name))
  );
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
