import { type Attempt, placeOf } from "./attempt.ts";

/** What a change of the objects did to the connections around it. */
export interface Verdict {
  readonly attempts: number;
  /** Failed attempts by their error, without lost ones. */
  readonly failures: Readonly<Record<string, number>>;
  /** Attempts without an answer that were begun in an outage, before anybody could know of it. */
  readonly lost: number;
  /** Ms from the change to the first end of an attempt at the new place. */
  readonly firstNew: number | undefined;
  /** Ms from the change to the last end of an attempt at any other place; undefined if none came after it. */
  readonly lastOld: number | undefined;
  /** Ms of the slowest attempt at the new place. */
  readonly slowest: number;
}

/**
 * Judges the attempts of one step. `changed`: just before the slice was written; `wanted`: the place
 * (a cluster, or `refused`) that all attempts should come to. `outage`: the old place has died without a word, so that
 * attempts are lost until the first one gets to the new place. Some of those that wait then get there, too.
 */
export function judge(
  attempts: readonly Attempt[],
  changed: number,
  wanted: string,
  outage = false,
): Verdict {
  const after = attempts.filter((attempt) => attempt.ended >= changed);
  const good = after.filter((attempt) => placeOf(attempt) === wanted);
  const others = after.filter((attempt) => placeOf(attempt) !== wanted);
  const failures: Record<string, number> = {};
  const moved = outage ? Math.min(...good.map(({ ended }) => ended)) : 0;
  let lost = 0;
  for (const { begun, error } of attempts) {
    if (error === undefined || error === wanted) continue;
    if (error === "timeout" && begun < moved) lost++;
    else failures[error] = (failures[error] ?? 0) + 1;
  }
  const since = (list: readonly Attempt[], pick: (...ends: number[]) => number) =>
    list.length === 0 ? undefined : pick(...list.map(({ ended }) => ended)) - changed;
  return {
    attempts: attempts.length,
    failures,
    lost,
    firstNew: since(good, Math.min),
    lastOld: since(others, Math.max),
    slowest: Math.max(0, ...good.map(({ begun, ended }) => ended - begun)),
  };
}

/** True if this many attempts in a row, the latest ones, came to the place. */
export function hasSettled(attempts: readonly Attempt[], wanted: string, count: number): boolean {
  const latest = attempts.slice(-count);
  return latest.length === count && latest.every((attempt) => placeOf(attempt) === wanted);
}

/** Attempts that failed though nothing was out of order. */
export function failuresOf({ failures }: Verdict): number {
  return Object.values(failures).reduce((sum, count) => sum + count, 0);
}
