import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { isSubdomainName } from "../../api/names.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseClusterObjectName } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";

/** Ranges of addresses that an object gives to others. */
export type RangesFact = readonly Cidr[];

/** Reads `spec.podCIDRs` of a Node: where its pods are, if its cluster hands ranges out by node. */
export function parseNodeRanges(object: unknown): Parsed<RangesFact> {
  return parseRanges("Node", object, "podCIDRs");
}

/** Reads `spec.cidrs` of a ServiceCIDR (Kubernetes 1.33): where ClusterIPs come from. */
export function parseServiceRanges(object: unknown): Parsed<RangesFact> {
  return parseRanges("ServiceCIDR", object, "cidrs");
}

/** A range that is none is left out; an object that names none gives no fact. */
function parseRanges(kind: string, object: unknown, name: string): Parsed<RangesFact> {
  const { complaints } = parseClusterObjectName(kind, object, isSubdomainName);
  const list = fieldAt(object, "spec", name);
  const ranges: Cidr[] = [];
  if (!isUnset(list) && !Array.isArray(list))
    complaints.add("invalid-object", `spec.${name}`, list);
  for (const [i, text] of (Array.isArray(list) ? list : []).entries()) {
    const range = typeof text === "string" ? parseCidr(text) : "invalid-cidr";
    if (isCidr(range)) ranges.push(range);
    else complaints.add("invalid-cidr", `spec.${name}[${i}]`, text);
  }
  return {
    object: complaints.object,
    problems: complaints.problems,
    ...(ranges.length > 0 && { fact: ranges }),
  };
}
