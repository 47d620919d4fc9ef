import { isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { LABEL_REGION, LABEL_ZONE } from "../../api/keys.ts";
import { isLabelValue, isSubdomainName } from "../../api/names.ts";
import type { Complaints, Parsed } from "../../api/parse/complaints.ts";
import { field, fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseClusterObject } from "../../api/parse/object-name.ts";
import { parseLabel } from "../../api/parse/parse-text.ts";
import type { NodeObjectFact } from "./facts.ts";

/** Limits; a node has two ranges (one per family), and addresses of a few interfaces. */
const MOST_CIDRS = 16;
const MOST_ADDRESSES = 256;

/** Parses a Node. An invalid name gives no fact; invalid labels, ranges and addresses are ignored. */
export function parseNode(object: unknown): Parsed<NodeObjectFact> {
  return parseClusterObject("Node", object, isSubdomainName, (_, complaints) => {
    const region = parseLabel(object, LABEL_REGION, isLabelValue, complaints);
    const zone = parseLabel(object, LABEL_ZONE, isLabelValue, complaints);
    return {
      podCidrs: parsePodCidrs(object, complaints),
      addresses: parseAddresses(object, complaints),
      ...(region !== undefined && { region }),
      ...(zone !== undefined && { zone }),
    };
  });
}

function parsePodCidrs(object: unknown, complaints: Complaints): Cidr[] {
  const cidrs: Cidr[] = [];
  for (const [i, raw] of listAt(object, ["spec", "podCIDRs"], MOST_CIDRS, complaints).entries()) {
    const cidr = typeof raw === "string" ? parseCidr(raw) : "invalid-cidr";
    if (isCidr(cidr)) cidrs.push(cidr);
    else complaints.add("invalid-cidr", `spec.podCIDRs[${i}]`, raw);
  }
  return cidrs;
}

/** Only types with IP addresses; the others hold names. */
function parseAddresses(object: unknown, complaints: Complaints): string[] {
  const found = new Set<string>();
  const list = listAt(object, ["status", "addresses"], MOST_ADDRESSES, complaints);
  for (const [i, raw] of list.entries()) {
    const type = field(raw, "type");
    if (type !== "InternalIP" && type !== "ExternalIP") continue;
    const text = field(raw, "address");
    const address = typeof text === "string" ? parseAddress(text) : "invalid-address";
    if (isAddress(address)) found.add(address.text);
    else complaints.add(address, `status.addresses[${i}].address`, text);
  }
  return [...found];
}

function listAt(
  object: unknown,
  path: readonly string[],
  most: number,
  complaints: Complaints,
): readonly unknown[] {
  const list = fieldAt(object, ...path);
  if (isUnset(list)) return [];
  if (Array.isArray(list) && list.length <= most) return list;
  complaints.add("invalid-object", path.join("."), Array.isArray(list) ? list.length : list);
  return [];
}
