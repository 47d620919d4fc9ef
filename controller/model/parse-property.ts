import { isSubdomainName } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { parseClusterObjectName } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";

/** A ClusterProperty of this cluster (KEP-2149). */
export interface PropertyFact {
  readonly name: string;
  /** Any text: whoever needs it to be more than that has to look. */
  readonly value: string;
}

/** Reads a ClusterProperty (v1alpha1 or v1beta1, one schema). One of unusable name, or without text, gives no fact. */
export function parseProperty(object: unknown): Parsed<PropertyFact> {
  const { complaints, name } = parseClusterObjectName("ClusterProperty", object, isSubdomainName);
  const result = { object: complaints.object, problems: complaints.problems };
  if (name === undefined) return result;
  const value = fieldAt(object, "spec", "value");
  if (typeof value !== "string") {
    complaints.add("invalid-object", "spec.value", value);
    return result;
  }
  return { ...result, fact: { name, value } };
}
