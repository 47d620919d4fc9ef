/** The minimum and maximum wait, in milliseconds. */
export interface BackoffBounds {
  readonly min: number;
  readonly max: number;
}

/** Maximum share by which `spreadRetryAfter` extends a wait. */
const JITTER = 0.25;

/** A Retry-After of `ms` milliseconds, extended at random, so that clients do not return together. PURE. */
export function spreadRetryAfter(ms: number, random: number): number {
  return ms * (1 + JITTER * random);
}

/**
 * Milliseconds to wait after `failures` consecutive failures (1 or more): doubling from `min` up to `max`, the upper half
 * random, so that nodes that failed together do not retry together. `random`: a number in [0, 1). PURE.
 */
export function backoff(failures: number, bounds: BackoffBounds, random: number): number {
  const ceiling = Math.min(bounds.max, bounds.min * 2 ** failures);
  return Math.max(bounds.min, (ceiling * (1 + random)) / 2);
}
