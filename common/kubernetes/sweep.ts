import { isMassLoss } from "../mass-loss.ts";

/** What a complete list takes away. */
export interface Sweep {
  readonly remove: readonly string[];
  /** Keys that a second list has to miss, too; undefined if nothing is in doubt. */
  readonly doubted: ReadonlySet<string> | undefined;
}

/**
 * What becomes of objects that a complete list misses. An etcd restored from an old or empty backup, or an
 * aggregated API server that has not loaded its own objects, lists with success and lists next to nothing. So
 * what would be a mass loss is believed of the objects that an earlier look (`doubted`) missed as well. `known`: how many
 * objects there were, the missing ones included. `rewound`: the server is older than it has been, so that nothing at all
 * goes at the first look. PURE.
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
  const most = isMassLoss(once.length, left);
  if (once.length === 0 || !(most || rewound)) return { remove: missing, doubted: undefined };
  return { remove: twice, doubted: new Set(once) };
}
