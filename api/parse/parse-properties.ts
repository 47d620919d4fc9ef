import { ANNOTATION_CLUSTER_PROPERTIES } from "../keys.ts";
import { isSubdomainName } from "../names.ts";
import type { Complaints } from "./complaints.ts";
import { fieldAt, isFields, isUnset } from "./fields.ts";
import type { Interner } from "./interner.ts";
import { parseJsonText } from "./json-text.ts";

/** Properties that are kept of one cluster: each is kept once a slice. */
export const MOST_PROPERTIES = 64;
/** Characters of the annotation. */
export const MOST_PROPERTY_CHARACTERS = 16_384;
/** Characters of one value. */
const MOST_VALUE_CHARACTERS = 256;

/**
 * The properties of the cluster that a slice or Lease speaks for (KEP-2149), by name, out of a JSON object; undefined
 * if nothing says any. One that is wrong is left out: to a selector it is as if the cluster did not have it.
 */
export function parseProperties(
  object: unknown,
  complaints: Complaints,
  interner: Interner,
): ReadonlyMap<string, string> | undefined {
  const text = fieldAt(object, "metadata", "annotations", ANNOTATION_CLUSTER_PROPERTIES);
  if (isUnset(text)) return undefined;
  const path = `metadata.annotations[${ANNOTATION_CLUSTER_PROPERTIES}]`;
  const value =
    typeof text === "string" ? parseJsonText(text, MOST_PROPERTY_CHARACTERS, 1) : undefined;
  if (!isFields(value)) return complaints.add("invalid-property", path, text);
  const properties = new Map<string, string>();
  for (const [name, property] of Object.entries(value)) {
    if (!isSubdomainName(name)) complaints.add("invalid-property", path, name);
    else if (!isPropertyValue(property))
      complaints.add("invalid-property", `${path}[${name}]`, property);
    else if (properties.size === MOST_PROPERTIES) {
      complaints.add("invalid-property", path, Object.keys(value).length);
      break;
    } else properties.set(interner.text(name), interner.text(property));
  }
  return properties;
}

/** True for what the value of a property may be, as far as it is told to others. */
export function isPropertyValue(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MOST_VALUE_CHARACTERS;
}
