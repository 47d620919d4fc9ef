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
