import { type Attempt, placeOf } from "../test/connections/connections.ts";
import { ms } from "./duration.ts";

/** Milliseconds from a cluster's silence within which new connections go elsewhere. */
const ELSEWHERE_WITHIN = 3_000;

/** What a change of the objects did to the connections around it. */
export interface Verdict {
  readonly attempts: number;
  /** Failed attempts by their error, without `cut`. */
  readonly failures: Readonly<Record<string, number>>;
  /** Attempts that were under way when their server died: it had accepted them, and nobody else can answer. */
  readonly cut: number;
  /** Ms from the change to the first end of an attempt at the new place. */
  readonly firstNew: number | undefined;
  /** Ms from the change to the last end of an attempt at any other place; undefined if none came after it. */
  readonly lastOld: number | undefined;
  /** Ms of the slowest attempt at the new place. */
  readonly slowest: number;
}

/**
 * Judges the attempts of one step. `changed`: just before the slice was written; `wanted`: the place
 * (a cluster, or `refused`) that all attempts should come to; `died`: when servers died without a word, if they did.
 */
export function judge(
  attempts: readonly Attempt[],
  changed: number,
  wanted: string,
  died = Number.NEGATIVE_INFINITY,
): Verdict {
  const after = attempts.filter((attempt) => attempt.ended >= changed);
  const good = after.filter((attempt) => placeOf(attempt) === wanted);
  const others = after.filter((attempt) => placeOf(attempt) !== wanted);
  const failures: Record<string, number> = {};
  let cut = 0;
  for (const { begun, error } of attempts) {
    if (error === undefined || error === wanted) continue;
    if (error === "timeout" && begun < died) cut++;
    else failures[error] = (failures[error] ?? 0) + 1;
  }
  const since = (list: readonly Attempt[], pick: (...ends: number[]) => number) =>
    list.length === 0 ? undefined : pick(...list.map(({ ended }) => ended)) - changed;
  return {
    attempts: attempts.length,
    ...{ failures, cut },
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

/** What the death of a cluster without a word cost, and that it cost more time than it should. */
export function costOf({ firstNew, slowest }: Pick<Verdict, "firstNew" | "slowest">): string {
  const isLate = firstNew === undefined || firstNew > ELSEWHERE_WITHIN;
  const late = isLate ? ` (LATE: expected within ${ms(ELSEWHERE_WITHIN)})` : "";
  return `connections elsewhere after ${ms(firstNew)}${late}, none lost, the slowest took ${ms(slowest)}`;
}

/** Attempts that failed. */
export function failuresOf({ failures }: Verdict): number {
  return Object.values(failures).reduce((sum, count) => sum + count, 0);
}
