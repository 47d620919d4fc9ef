import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { ANNOTATION_ENDPOINT_CIDRS } from "../../api/keys.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";

/** Most ranges that are declared for a cluster: each endpoint is compared with all of them. */
const MOST_RANGES = 256;

/**
 * Reads the ranges that are declared for a cluster on whatever introduces it; none if there is no annotation.
 * Undefined if one of them is wrong: to leave it out would either let foreign endpoints in, or good ones go.
 */
export function parseEndpointCidrs(
  object: unknown,
  complaints: Complaints,
): readonly Cidr[] | undefined {
  const value = fieldAt(object, "metadata", "annotations", ANNOTATION_ENDPOINT_CIDRS);
  if (isUnset(value)) return [];
  const path = `metadata.annotations[${ANNOTATION_ENDPOINT_CIDRS}]`;
  const parts = typeof value === "string" ? value.split(",", MOST_RANGES + 1) : [];
  if (parts.length === 0 || parts.length > MOST_RANGES) {
    return complaints.add("invalid-cidr", path, value);
  }
  const ranges: Cidr[] = [];
  for (const part of parts) {
    const range = parseCidr(part.trim());
    if (!isCidr(range)) return complaints.add("invalid-cidr", path, part.trim());
    ranges.push(range);
  }
  return ranges;
}
