import type { Cidr } from "../../api/cidr.ts";
import { endpointRangesText, parseEndpointRanges } from "../../api/endpoint-ranges.ts";
import { ANNOTATION_ACCEPTED_CIDRS } from "../../api/keys.ts";
import { isClusterId } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isFields, isUnset } from "../../api/parse/fields.ts";
import { parseJsonText } from "../../api/parse/json-text.ts";

/** Maximum characters of the annotation: it is written with each renewal of the Lease. */
const MOST_CHARACTERS = 16_384;

/** The ranges that a cluster declares for each peer, by cluster, as its Lease has them; undefined: none. What is over the limit is left out. */
export function acceptedTexts(
  declared: ReadonlyMap<string, readonly Cidr[]>,
): Readonly<Record<string, string>> | undefined {
  const kept: [string, string][] = [];
  // Brackets; each range adds four quotes, a colon and a comma.
  let characters = 2;
  for (const cluster of [...declared.keys()].sort()) {
    const text = endpointRangesText(declared.get(cluster) ?? []);
    characters += cluster.length + text.length + 6;
    if (text === "" || characters > MOST_CHARACTERS) continue;
    kept.push([cluster, text]);
  }
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Parses the ranges that the cluster of a Lease declares for its peers. Skips invalid ones. */
export function parseAccepted(
  lease: unknown,
  complaints: Complaints,
): Readonly<Record<string, string>> | undefined {
  const text = fieldAt(lease, "metadata", "annotations", ANNOTATION_ACCEPTED_CIDRS);
  if (isUnset(text)) return undefined;
  const path = `metadata.annotations[${ANNOTATION_ACCEPTED_CIDRS}]`;
  const value = typeof text === "string" ? parseJsonText(text, MOST_CHARACTERS, 1) : undefined;
  if (!isFields(value)) return complaints.add("invalid-object", path, text);
  const valid = Object.entries(value).flatMap(([cluster, ranges]) => {
    const parsed = typeof ranges === "string" ? parseEndpointRanges(ranges) : undefined;
    if (isClusterId(cluster) && parsed !== undefined)
      return [[cluster, endpointRangesText(parsed)]];
    complaints.add("invalid-cidr", path, cluster);
    return [];
  });
  return Object.fromEntries(valid);
}
