import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { isSubdomainName } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseClusterObject } from "../../api/parse/object-name.ts";

export type RangesFact = readonly Cidr[];

/** Parses `spec.podCIDRs` of a Node. */
export function parseNodeRanges(object: unknown): Parsed<RangesFact> {
  return parseRanges("Node", object, "podCIDRs");
}

/** Parses `spec.cidrs` of a ServiceCIDR (Kubernetes 1.33). */
export function parseServiceRanges(object: unknown): Parsed<RangesFact> {
  return parseRanges("ServiceCIDR", object, "cidrs");
}

/** Invalid ranges are left out; without any there is no fact. */
function parseRanges(kind: string, object: unknown, name: string): Parsed<RangesFact> {
  return parseClusterObject(kind, object, isSubdomainName, (_, complaints) => {
    const list = fieldAt(object, "spec", name);
    const ranges: Cidr[] = [];
    if (!isUnset(list) && !Array.isArray(list)) {
      complaints.add("invalid-object", `spec.${name}`, list);
    }
    for (const [i, text] of (Array.isArray(list) ? list : []).entries()) {
      const range = typeof text === "string" ? parseCidr(text) : "invalid-cidr";
      if (isCidr(range)) ranges.push(range);
      else complaints.add("invalid-cidr", `spec.${name}[${i}]`, text);
    }
    return ranges.length > 0 ? ranges : undefined;
  });
}
