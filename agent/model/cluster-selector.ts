/**
 * A set of clusters, said by their properties (KEP-5939): those that meet every one of these requirements;
 * there is at least one.
 */
export type ClusterSelector = readonly PropertyRequirement[];

/** What a LabelSelector may ask of a value. */
export const OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist"] as const;

/** One thing that is asked of a cluster's property, with the meaning that it has in a LabelSelector. */
export interface PropertyRequirement {
  /** Name of the property. */
  readonly key: string;
  readonly operator: (typeof OPERATORS)[number];
  /** At least one with `In` and `NotIn`, none with the others; `SAME_AS_IMPORTER` may be among them. */
  readonly values: readonly string[];
}

/** As a value: the value that the importing cluster has of the same property (KEP-5939). */
export const SAME_AS_IMPORTER = "@SameAsImporter@";
