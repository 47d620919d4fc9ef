import { LABEL_REGION, PROPERTY_CLUSTER_ID } from "../keys.ts";
import type { Origin } from "./cluster-selectors.ts";
import {
  type ClusterSelector,
  clustersOf,
  type Matches,
  type PropertyRequirement,
  SAME_AS_IMPORTER,
} from "./cluster-selectors.ts";
import type { TierPolicy } from "./tier-policy.ts";

/** A set of clusters, relative to an importing cluster. */
export interface Tier {
  /** Its name in rules, logs and metrics. */
  readonly name: string;
  readonly matches: Matches;
  /** Present if its endpoints get no traffic. */
  readonly walled?: true;
}

/** Tiers, nearest first. The last one matches every origin. */
export type Tiers = readonly Tier[];

/** This cluster, then clusters of its region, then all others: for imports without selectors. */
const BUILT_IN: readonly { readonly name: string; readonly selector: ClusterSelector }[] = [
  { name: "local", selector: [same(PROPERTY_CLUSTER_ID)] },
  { name: "regional", selector: [same(LABEL_REGION)] },
];

/** The tiers of an import: one per selector, then all other clusters. Named by index: names are metric labels. */
export function tiersOf({ selectors, onlySelected }: TierPolicy, importer: Origin): Tiers {
  const own = selectors?.map((selector, i) => ({ name: `selector-${i + 1}`, selector }));
  const tiers = (own ?? BUILT_IN).map(({ name, selector }) => ({
    name,
    matches: clustersOf(selector, importer),
  }));
  const rest = { name: own ? "remainder" : "global", matches: () => true };
  return [...tiers, { ...rest, ...(onlySelected && { walled: true }) }];
}

/** The rank of the tier of a name that `tiersOf` gives: 0 is the nearest. Undefined if no tier has that name. PURE. */
export function tierRank(name: string): number | undefined {
  if (name === "global" || name === "remainder") return Number.MAX_SAFE_INTEGER;
  if (name === "local") return 0;
  if (name === "regional") return 1;
  const [, number] = /^selector-([1-9]\d{0,3})$/.exec(name) ?? [];
  return number === undefined ? undefined : Number(number) - 1;
}

function same(key: string): PropertyRequirement {
  return { key, operator: "In", values: [SAME_AS_IMPORTER] };
}

/** Index of the first tier that matches `origin`, else of the last one. */
export function tierIndex(origin: Origin, tiers: Tiers): number {
  const index = tiers.findIndex((tier) => tier.matches(origin));
  return index < 0 ? tiers.length - 1 : index;
}
