import { isSubdomainName } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { parseClusterObject } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";

/** A ClusterProperty (KEP-2149). */
export interface PropertyFact {
  readonly name: string;
  /** Any text. */
  readonly value: string;
}

/** Parses a ClusterProperty (v1alpha1 or v1beta1). */
export function parseProperty(object: unknown): Parsed<PropertyFact> {
  return parseClusterObject("ClusterProperty", object, isSubdomainName, (name, complaints) => {
    const value = fieldAt(object, "spec", "value");
    if (typeof value !== "string") return complaints.add("invalid-object", "spec.value", value);
    return { name, value };
  });
}
