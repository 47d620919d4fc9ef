import { LABEL_REGION, PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import {
  type ClusterSelector,
  type PropertyRequirement,
  SAME_AS_IMPORTER,
} from "../model/cluster-selector.ts";
import type { ImportFact, NodeFact } from "../model/facts.ts";
import { clustersOf, type Holds } from "./cluster-selectors.ts";
import { importerOf, type Origin } from "./origin.ts";

/** One rung of a ladder: a set of clusters, as seen from one node. */
export interface Tier {
  /** The name that rules, logs and metrics show. */
  readonly name: string;
  readonly holds: Holds;
}

/** Tiers, nearest first. The last one holds every origin, so that every endpoint has a tier. */
export type Ladder = readonly Tier[];

/** A rung, before it is seen from a node. */
interface Rung {
  readonly name: string;
  readonly selector: ClusterSelector;
}

/** This cluster, then clusters of its region, then all others: for imports without selectors of their own. */
const BUILT_IN: readonly Rung[] = [
  { name: "local", selector: [same(PROPERTY_CLUSTER_ID)] },
  { name: "regional", selector: [same(LABEL_REGION)] },
];

/**
 * The ladder that an import's selectors make on a node: one tier for each, in their order, and one for the
 * clusters that are in none. Tiers are named by their place, never by what they hold: metrics have them as
 * labels, and there must be few.
 */
export function ladderOf(selectors: ImportFact["selectors"], node: NodeFact): Ladder {
  const importer = importerOf(node);
  const own = selectors?.map((selector, i) => ({ name: `selector-${i + 1}`, selector }));
  const tiers = (own ?? BUILT_IN).map(({ name, selector }) => ({
    name,
    holds: clustersOf(selector, importer),
  }));
  return [...tiers, { name: own ? "remainder" : "global", holds: () => true }];
}

function same(key: string): PropertyRequirement {
  return { key, operator: "In", values: [SAME_AS_IMPORTER] };
}

/** Index of the first tier that holds `origin`; the last one if none says so. */
export function tierIndex(origin: Origin, ladder: Ladder): number {
  const index = ladder.findIndex((tier) => tier.holds(origin));
  return index < 0 ? ladder.length - 1 : index;
}
