import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { MOST_ENDPOINT_RANGES } from "../../api/endpoint-ranges.ts";
import { ANNOTATION_ENDPOINT_CIDRS } from "../../api/keys.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";

/**
 * Parses the declared endpoint ranges of a cluster. Undefined if there are none, or if one is invalid: dropping it would
 * admit or reject the wrong endpoints. A range of all addresses is reported, and used.
 */
export function parseEndpointCidrs(
  object: unknown,
  complaints: Complaints,
): readonly Cidr[] | undefined {
  const value = fieldAt(object, "metadata", "annotations", ANNOTATION_ENDPOINT_CIDRS);
  const path = `metadata.annotations[${ANNOTATION_ENDPOINT_CIDRS}]`;
  if (isUnset(value)) return complaints.add("endpoint-cidrs-missing", path, undefined);
  const parts = typeof value === "string" ? value.split(",", MOST_ENDPOINT_RANGES + 1) : [];
  if (parts.length === 0 || parts.length > MOST_ENDPOINT_RANGES) {
    return complaints.add("invalid-cidr", path, value);
  }
  const ranges: Cidr[] = [];
  for (const part of parts) {
    const range = parseCidr(part.trim());
    if (!isCidr(range)) return complaints.add("invalid-cidr", path, part.trim());
    if (range.bits === 0) complaints.add("endpoint-cidrs-open", path, range.text);
    ranges.push(range);
  }
  return ranges;
}
