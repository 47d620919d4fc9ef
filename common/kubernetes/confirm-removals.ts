/** The result of comparing a complete list with the cached objects. */
export interface Removals {
  readonly remove: readonly string[];
  /** Keys that a second list must miss as well; undefined if there are none. */
  readonly unconfirmed: ReadonlySet<string> | undefined;
}

/**
 * Which missing objects are removed. A server restored from an old backup, or one that has not loaded its objects, returns a
 * nearly empty list: two lists must miss the same objects for a mass loss, or for any removal if the server was `rewound`.
 * `cached`: number of cached objects, including missing ones. `previous`: `unconfirmed` of the previous list. PURE.
 */
export function confirmRemovals(
  missing: readonly string[],
  cached: number,
  previous: ReadonlySet<string> | undefined,
  rewound: boolean,
): Removals {
  const twice = missing.filter((key) => previous?.has(key));
  const once = missing.filter((key) => !previous?.has(key));
  const isMass = isMassLoss(once.length, cached - twice.length);
  if (once.length === 0 || !(isMass || rewound)) return { remove: missing, unconfirmed: undefined };
  return { remove: twice, unconfirmed: new Set(once) };
}

/** Removals up to this number are no mass loss, unless nothing is left. */
const FEW = 10;

/** True if a list without `removed` of `all` objects is probably wrong: it lacks all, or more than half and more than a few. PURE. */
export function isMassLoss(removed: number, all: number): boolean {
  return removed > 0 && (removed >= all || (removed > FEW && removed * 2 > all));
}
