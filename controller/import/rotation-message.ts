import type { PlacedDrain } from "../model/drain.ts";

/** A cluster with a drain in force. */
export interface DrainedCluster {
  readonly cluster: string;
  readonly drain: PlacedDrain;
}

/** Clusters that a message names. */
const MOST_NAMED = 10;
const OUT = / (Stale|Drained): .*$/;

/**
 * The message of a condition, with the stale clusters, and the drained ones, who drained them, why and until when; without those
 * it named before.
 */
export function withRotation(
  message: string,
  drained: readonly DrainedCluster[] = [],
  stale: readonly string[] = [],
): string {
  const drains = drained.map(({ cluster, drain }) => textOf(cluster, drain));
  return `${message.replace(OUT, "")}${listed("Stale", stale)}${listed("Drained", drains)}`;
}

function listed(title: string, all: readonly string[]): string {
  if (all.length === 0) return "";
  const more = all.length - MOST_NAMED;
  return ` ${title}: ${all.slice(0, MOST_NAMED).join(", ")}${more > 0 ? `, and ${more} more` : ""}.`;
}

function textOf(cluster: string, { by, reason, until }: PlacedDrain): string {
  const end = new Date(until).toISOString();
  const who = by === undefined ? "" : ` by ${by}`;
  const why = reason === undefined ? "" : ` (${reason})`;
  return `${cluster} until ${end}${who}${why}`;
}
