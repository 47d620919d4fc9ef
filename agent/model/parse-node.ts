import { isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, isCidr, parseCidr } from "../../api/cidr.ts";
import { LABEL_REGION, LABEL_ZONE } from "../../api/keys.ts";
import { isLabelValue, isSubdomainName } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { field, fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseClusterObjectName } from "../../api/parse/object-name.ts";
import { parseLabel } from "../../api/parse/parse-label.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { NodeObjectFact } from "./facts.ts";

/** More than any node has: two ranges (one per family), and addresses of many interfaces. */
const MOST_CIDRS = 16;
const MOST_ADDRESSES = 256;

/** Reads a Node. One of unusable name gives no fact; labels, ranges and addresses that are wrong are left out. */
export function parseNode(object: unknown): Parsed<NodeObjectFact> {
  const { complaints, name } = parseClusterObjectName("Node", object, isSubdomainName);
  const result = { object: complaints.object, problems: complaints.problems };
  if (name === undefined) return result;
  const region = parseLabel(object, LABEL_REGION, isLabelValue, complaints);
  const zone = parseLabel(object, LABEL_ZONE, isLabelValue, complaints);
  const fact: NodeObjectFact = {
    podCidrs: parsePodCidrs(object, complaints),
    addresses: parseAddresses(object, complaints),
    ...(region !== undefined && { region }),
    ...(zone !== undefined && { zone }),
  };
  return { ...result, fact };
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

/** Those of the types that hold addresses; the others hold names. */
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
