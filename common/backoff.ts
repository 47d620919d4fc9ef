/** The shortest and the longest wait, in milliseconds. */
export interface BackoffBounds {
  readonly min: number;
  readonly max: number;
}

/**
 * Milliseconds to wait after `failures` failures in a row (1 or more): doubling from `min` up to `max`, of
 * which the upper half is left to chance, so that a thousand nodes that failed together do not come back
 * together. Never shorter than `min`, never longer than `max`. `random`: a number in [0, 1). PURE.
 */
export function backoff(failures: number, bounds: BackoffBounds, random: number): number {
  const ceiling = Math.min(bounds.max, bounds.min * 2 ** failures);
  return Math.max(bounds.min, (ceiling * (1 + random)) / 2);
}
