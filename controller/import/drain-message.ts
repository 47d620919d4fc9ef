import type { PlacedDrain } from "../model/drain.ts";

/** A cluster with a drain in force. */
export interface DrainedCluster {
  readonly cluster: string;
  readonly drain: PlacedDrain;
}

/** Clusters that a message names. */
const MOST_NAMED = 10;
const DRAINED = / Drained: .*$/;

/** The message of a condition, with the drained clusters, who drained them, why and until when; without those it named before. */
export function withDrains(message: string, drained: readonly DrainedCluster[]): string {
  const rest = message.replace(DRAINED, "");
  if (drained.length === 0) return rest;
  const named = drained.slice(0, MOST_NAMED).map(({ cluster, drain }) => textOf(cluster, drain));
  const more = drained.length - named.length;
  return `${rest} Drained: ${named.join(", ")}${more > 0 ? `, and ${more} more` : ""}.`;
}

function textOf(cluster: string, { by, reason, until }: PlacedDrain): string {
  const end = new Date(until).toISOString();
  const who = by === undefined ? "" : ` by ${by}`;
  const why = reason === undefined ? "" : ` (${reason})`;
  return `${cluster} until ${end}${who}${why}`;
}
