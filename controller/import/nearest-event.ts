import type { ConditionEvent } from "./condition-events.ts";
import { type Nearest, PLACES } from "./nearest.ts";

/** Whether new connections go farther away, or back. */
export type Direction = "away" | "back";

const WHERE = {
  local: "in this cluster",
  regional: "in other clusters of this region",
  global: "in clusters of other regions, or of an unknown one",
} as const;
/** Clusters that a message names. */
const MOST_NAMED = 10;

/** The direction of a change; undefined if the place is the same. PURE. */
export function directionOf(before: Nearest, now: Nearest): Direction | undefined {
  const [was, is] = [before, now].map(({ place }) => PLACES.indexOf(place)) as [number, number];
  if (was === is) return undefined;
  return is > was ? "away" : "back";
}

/**
 * The Event about it. It says what holds for every node: where ready endpoints are. Which of them a node uses also depends on
 * the import's selectors and policies, and on each port. PURE.
 */
export function nearestEvent({ place, clusters }: Nearest, direction: Direction): ConditionEvent {
  if (place === "none") {
    const message = "No cluster has a ready endpoint in rotation.";
    return { level: "Warning", reason: "NoReadyEndpoint", message };
  }
  const named = clusters.slice(0, MOST_NAMED).join(", ");
  const more = clusters.length - MOST_NAMED;
  const message = `The nearest ready endpoints are ${WHERE[place]}: ${named}${more > 0 ? `, and ${more} more` : ""}.`;
  return direction === "away"
    ? { level: "Warning", reason: "EndpointsFartherAway", message }
    : { level: "Normal", reason: "EndpointsNearer", message };
}
