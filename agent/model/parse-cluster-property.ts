import { clusterOfProperty, parseEndpointRanges } from "../../api/endpoint-ranges.ts";
import { PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { isClusterId, isSubdomainName } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { parseClusterObject } from "../../api/parse/object-name.ts";
import type { PropertyFact } from "./facts.ts";

/** Longest value (KEP-2149; the CRD as shipped does not enforce it). */
const LONGEST_VALUE = 128_000;

/** Parses a ClusterProperty (v1alpha1 or v1beta1). A value may be any non-empty text, except for cluster IDs and endpoint ranges. */
export function parseClusterProperty(object: unknown): Parsed<PropertyFact> {
  return parseClusterObject("ClusterProperty", object, isSubdomainName, (name, complaints) => {
    const value = fieldAt(object, "spec", "value");
    if (typeof value !== "string" || value === "" || value.length > LONGEST_VALUE) {
      return complaints.add("invalid-object", "spec.value", value);
    }
    if (name === PROPERTY_CLUSTER_ID && !isClusterId(value)) {
      return complaints.add("invalid-name", "spec.value", value);
    }
    if (clusterOfProperty(name) !== undefined && parseEndpointRanges(value) === undefined) {
      return complaints.add("invalid-cidr", "spec.value", value);
    }
    return { name, value };
  });
}
