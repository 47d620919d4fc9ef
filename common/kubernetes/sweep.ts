/** Objects that a list may take away at once, even if they are more than half of what is known. */
const FEW = 10;

/** What a complete list takes away. */
export interface Sweep {
  readonly remove: readonly string[];
  /** Keys that a second list has to miss, too; undefined if nothing is in doubt. */
  readonly doubted: ReadonlySet<string> | undefined;
}

/**
 * What becomes of objects that a complete list misses. An etcd restored from an old or empty backup, or an
 * aggregated API server that has not loaded its own objects, lists with success and lists next to nothing. So
 * what would take away everything, or more than half and more than a few, is believed of the objects that an
 * earlier look (`doubted`) missed as well. `known`: how many objects there were, the missing ones included.
 * `rewound`: the server is older than it has been, so that nothing at all goes at the first look. PURE.
 */
export function sweep(
  missing: readonly string[],
  known: number,
  doubted: ReadonlySet<string> | undefined,
  rewound: boolean,
): Sweep {
  const twice = missing.filter((key) => doubted?.has(key));
  const once = missing.filter((key) => !doubted?.has(key));
  const left = known - twice.length;
  const most = once.length === left || (once.length > FEW && once.length * 2 > left);
  if (once.length === 0 || !(most || rewound)) return { remove: missing, doubted: undefined };
  return { remove: twice, doubted: new Set(once) };
}
