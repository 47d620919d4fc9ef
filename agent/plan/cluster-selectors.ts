import { LABEL_REGION, PROPERTY_CLUSTER_ID, PROPERTY_REGION } from "../../api/keys.ts";
import {
  type ClusterSelector,
  type PropertyRequirement,
  SAME_AS_IMPORTER,
} from "../model/cluster-selector.ts";
import type { Origin } from "./origin.ts";

/** Whether a cluster is of a set. */
export type Holds = (origin: Origin) => boolean;

/**
 * The set of clusters that `selector` means in the importing cluster. If that one does not have a property of
 * which the selector wants the same value, the set is empty (KEP-5939, Property Selector), also where the
 * requirement is `NotIn`: what is not known brings nobody nearer. A slice of unknown origin is of no cluster,
 * and so in no set.
 */
export function clustersOf(selector: ClusterSelector, importer: Origin): Holds {
  const meets: Holds[] = [];
  for (const requirement of selector) {
    const values = valuesOf(requirement, importer);
    if (values === undefined) return () => false;
    meets.push((origin) => isMet(requirement, values, propertyOf(origin, requirement.key)));
  }
  return (origin) => origin.cluster !== undefined && meets.every((met) => met(origin));
}

/**
 * A property of a cluster. Its id and its region are what this node judges them to be (`originOf`), under
 * whatever name; only the others are taken from what the cluster says of itself.
 */
export function propertyOf(origin: Origin, name: string): string | undefined {
  if (name === PROPERTY_CLUSTER_ID) return origin.cluster;
  if (name === PROPERTY_REGION || name === LABEL_REGION) return origin.region;
  return origin.properties?.get(name);
}

/** The values of a requirement with the importer's own among them; undefined if it has none. */
function valuesOf(
  { key, values }: PropertyRequirement,
  importer: Origin,
): ReadonlySet<string> | undefined {
  const set = new Set(values);
  if (!set.delete(SAME_AS_IMPORTER)) return set;
  const own = propertyOf(importer, key);
  return own === undefined ? undefined : set.add(own);
}

/** As in a LabelSelector: `NotIn` is met by who does not have the property at all, too. */
function isMet(
  { operator }: PropertyRequirement,
  values: ReadonlySet<string>,
  value: string | undefined,
): boolean {
  switch (operator) {
    case "In":
      return value !== undefined && values.has(value);
    case "NotIn":
      return value === undefined || !values.has(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
  }
}
