import { chainOf, unusedMark } from "./marks.ts";
import { SETS } from "./sets.ts";

/** The map of verdicts that leads to a chain of this name, one element for each chain. */
const LEADS: readonly (readonly [name: RegExp, map: string])[] = [
  [/^pick-\d+$|^share-\d+$/, "picks"],
  [/^hash-\d+$|^hash-share-\d+$/, "hashes"],
  [/^draw-\d+$|^draw-share-\d+$/, "draws"],
  [/^sticky-\d+$/, "timeouts"],
  [/^pick-\d+-of-\d+$/, "groups"],
  [/^hash-\d+-of-\d+$/, "hash-groups"],
  [/^draw-\d+-of-\d+$/, "draw-groups"],
];

/** Sets of which nothing but their existence, or the number of elements, is compared. */
export const VERDICT_MAPS: readonly string[] = LEADS.map(([, map]) => map);
/** Those that only some chains need. */
const OPTIONAL: readonly string[] = ["groups", "hash-groups", "draws", "draw-groups"];

/** In place of a rule's comment: says that something is missing that no rule shows, so that the table is not whole. */
const GAP = "gap 1 -";

/**
 * The comments of a table's rules, and `GAP` if a set is missing, or a map that leads to chains has fewer or more elements than there are chains. `sizeOf`: the number
 * of elements of a set; undefined if there is none. PURE.
 */
export function withGaps(
  rules: readonly string[],
  sizeOf: (set: string) => number | undefined,
): readonly string[] {
  if (rules.length === 0) return rules;
  const chains = new Set(rules.filter((mark) => mark !== unusedMark(chainOf(mark))).map(chainOf));
  const isGood = (map: string, count: number): boolean => {
    const size = sizeOf(map);
    return size === undefined ? OPTIONAL.includes(map) && count === 0 : size === count;
  };
  const hasSets = Object.keys(SETS).every((set) => sizeOf(set) !== undefined);
  const areWhole = LEADS.every(([name, map]) => {
    const led = chains.values().filter((chain) => name.test(chain));
    return isGood(map, [...led].length);
  });
  return hasSets && areWhole ? rules : [...rules, GAP];
}
