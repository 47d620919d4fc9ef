import { LABEL_REGION, PROPERTY_CLUSTER_ID, PROPERTY_REGION } from "../keys.ts";

/** True if a cluster belongs to a set. */
export type Matches = (origin: Origin) => boolean;

/**
 * The clusters that `selector` matches in the importing cluster. If the importer lacks a property that a requirement refers
 * to, the set is empty (KEP-5939). A slice of unknown origin is in no set.
 */
export function clustersOf(selector: ClusterSelector, importer: Origin): Matches {
  const meets: Matches[] = [];
  for (const requirement of selector) {
    const values = valuesOf(requirement, importer);
    if (values === undefined) return () => false;
    meets.push((origin) => isMet(requirement, values, propertyOf(origin, requirement.key)));
  }
  return (origin) => origin.cluster !== undefined && meets.every((met) => met(origin));
}

/** A property of a cluster. ID and region come from `originOf`; only the others from the cluster itself. */
export function propertyOf(origin: Origin, name: string): string | undefined {
  if (name === PROPERTY_CLUSTER_ID) return origin.cluster;
  if (name === PROPERTY_REGION || name === LABEL_REGION) return origin.region;
  return origin.properties?.get(name);
}

/** The values of a requirement, with the importer's own value resolved; undefined if it has none. */
function valuesOf(
  { key, values }: PropertyRequirement,
  importer: Origin,
): ReadonlySet<string> | undefined {
  const set = new Set(values);
  if (!set.delete(SAME_AS_IMPORTER)) return set;
  const own = propertyOf(importer, key);
  return own === undefined ? undefined : set.add(own);
}

/** As in a LabelSelector: `NotIn` also matches clusters without the property. */
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

/** A set of clusters by their properties (KEP-5939): those that meet all of these requirements, at least one. */
export type ClusterSelector = readonly PropertyRequirement[];

/** Operators of a LabelSelector. */
export const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"] as const;

/** A requirement on a cluster's property, as in a LabelSelector. */
export interface PropertyRequirement {
  /** Name of the property. */
  readonly key: string;
  readonly operator: (typeof OPERATORS)[number];
  /** At least one with `In` and `NotIn`, none with the others; `SAME_AS_IMPORTER` may be among them. */
  readonly values: readonly string[];
}

/** As a value: the importing cluster's own value of the property (KEP-5939). */
export const SAME_AS_IMPORTER = "@SameAsImporter@";

/** The cluster that endpoints come from. Without a cluster, the other fields are absent, too. */
export interface Origin {
  readonly cluster?: string;
  readonly region?: string;
  /** The cluster's properties by name; ID and region are not read from here. */
  readonly properties?: ReadonlyMap<string, string>;
}
