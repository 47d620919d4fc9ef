import { ANNOTATION_CLUSTER_PROPERTIES } from "../keys.ts";
import { isSubdomainName } from "../names.ts";
import type { Complaints } from "./complaints.ts";
import { fieldAt, isFields, isUnset } from "./fields.ts";
import type { Interner } from "./interner.ts";
import { parseJsonText } from "./json-text.ts";

/** Maximum properties of a cluster; each slice holds them. */
export const MOST_PROPERTIES = 64;
/** Maximum characters of the annotation. */
export const MOST_PROPERTY_CHARACTERS = 16_384;
/** Maximum characters of a value. */
const MOST_VALUE_CHARACTERS = 256;

/** The cluster properties (KEP-2149) in the annotation of a slice or Lease; undefined if unset. Skips invalid ones. */
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

/** True for a property value that may be published to other clusters. */
export function isPropertyValue(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= MOST_VALUE_CHARACTERS;
}
