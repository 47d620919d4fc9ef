import type { Attempt } from "../test/connections/connections.ts";

/** A change that was written to an API server. Times in ms of CLOCK_MONOTONIC. */
export interface Change {
  /** Who answers from then on. */
  readonly place: string;
  readonly begun: number;
  /** When the API server acknowledged it. */
  readonly acknowledged: number;
}

/** How connections followed a change, in milliseconds from its acknowledgement. */
export interface Followed {
  /** The end of the first connection that was answered by the new place, or by one that came even later. */
  readonly first: number;
  /** The beginning of the last connection that anybody older answered; 0 if that was before. */
  readonly last: number;
}

/**
 * How connections followed each of these changes, which came in this order and lead to different places. A watch
 * may be quicker than the acknowledgement: that is 0. undefined for a change that no connection followed. PURE.
 */
export function followed(
  attempts: readonly Attempt[],
  changes: readonly Change[],
): (Followed | undefined)[] {
  return changes.map(({ begun, acknowledged }, i) => {
    const places = new Set(changes.slice(i).map(({ place }) => place));
    const since = attempts.filter(({ ended, answer }) => ended > begun && answer !== undefined);
    const first = since.filter(({ answer }) => places.has(answer ?? "")).map(({ ended }) => ended);
    if (first.length === 0) return undefined;
    const older = since.filter(({ answer }) => !places.has(answer ?? ""));
    return {
      first: Math.max(0, least(first) - acknowledged),
      last: Math.max(0, ...older.map((attempt) => attempt.begun - acknowledged)),
    };
  });
}

function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}
