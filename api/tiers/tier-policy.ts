import { ANNOTATION_UNSELECTED_CLUSTERS } from "../keys.ts";
import type { Complaints } from "../parse/complaints.ts";
import { fieldAt, isUnset } from "../parse/fields.ts";
import type { ClusterSelector } from "./cluster-selectors.ts";
import { parseSelectors } from "./parse-selectors.ts";

/** What a ServiceImport states about its tiers. */
export interface TierPolicy {
  /** Absent: the built-in tiers. */
  readonly selectors?: readonly ClusterSelector[];
  /** Clusters that no selector matches get no traffic. */
  readonly onlySelected?: true;
}

/** Parses the tiers of a ServiceImport. */
export function parseTierPolicy(object: unknown, complaints: Complaints): TierPolicy {
  const onlySelected = parseOnlySelected(object, complaints);
  const list = parseSelectors(object, complaints);
  // Behind a wall, a list that cannot be read selects nobody: the built-in tiers could lead outside.
  const unreadable = onlySelected ? [] : undefined;
  const selectors = list === "invalid" ? unreadable : list;
  return {
    ...(selectors !== undefined && { selectors }),
    ...(onlySelected && { onlySelected }),
  };
}

/** True for any value but `last`: a mistyped wall is a wall. */
function parseOnlySelected(object: unknown, complaints: Complaints): true | undefined {
  const value = fieldAt(object, "metadata", "annotations", ANNOTATION_UNSELECTED_CLUSTERS);
  if (isUnset(value) || value === "last") return undefined;
  if (value !== "never") {
    const path = `metadata.annotations[${ANNOTATION_UNSELECTED_CLUSTERS}]`;
    complaints.add("invalid-policy", path, value);
  }
  return true;
}
