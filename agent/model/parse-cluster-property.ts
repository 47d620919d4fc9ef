import { PROPERTY_CLUSTER_ID } from "../../api/keys.ts";
import { isClusterId, isSubdomainName } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { parseClusterObjectName } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { PropertyFact } from "./facts.ts";

/** Longest value (KEP-2149; the CRD as shipped does not enforce it). */
const LONGEST_VALUE = 128_000;

/**
 * Reads a ClusterProperty (v1alpha1 or v1beta1, one schema). A value may be any text that is not empty, but
 * for the cluster's id, which has to be one: what is wrong gives no fact.
 */
export function parseClusterProperty(object: unknown): Parsed<PropertyFact> {
  const { complaints, name } = parseClusterObjectName("ClusterProperty", object, isSubdomainName);
  const result = { object: complaints.object, problems: complaints.problems };
  if (name === undefined) return result;
  const value = fieldAt(object, "spec", "value");
  if (typeof value !== "string" || value === "" || value.length > LONGEST_VALUE) {
    complaints.add("invalid-object", "spec.value", value);
    return result;
  }
  if (name === PROPERTY_CLUSTER_ID && !isClusterId(value)) {
    complaints.add("invalid-name", "spec.value", value);
    return result;
  }
  return { ...result, fact: { name, value } };
}
