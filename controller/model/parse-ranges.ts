import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { isSubdomainName } from "../../api/names.ts";
import type { Complaints, Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseClusterObject } from "../../api/parse/object-name.ts";

export type RangesFact = readonly Cidr[];

/** Parses `spec.cidrs` of a ServiceCIDR (Kubernetes 1.33); without a valid range there is no fact. */
export function parseServiceRanges(object: unknown): Parsed<RangesFact> {
  return parseClusterObject("ServiceCIDR", object, isSubdomainName, (_, complaints) => {
    const ranges = parseRanges(object, "cidrs", complaints);
    return ranges.length > 0 ? ranges : undefined;
  });
}

/** Ranges of a list in `spec`; invalid ones are left out. */
export function parseRanges(object: unknown, name: string, complaints: Complaints): RangesFact {
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
  return ranges;
}
