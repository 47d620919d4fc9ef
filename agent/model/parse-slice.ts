import { type Family, isAddress, parseAddress } from "../../api/address.ts";
import { classOf } from "../../api/address-class.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import {
  LABEL_ACTIVE,
  LABEL_REGION,
  LABEL_SERVICE_NAME,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import {
  isClusterId,
  isLabelName,
  isLabelValue,
  isSubdomainName,
  objectKey,
} from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { field, fieldAt, isUnset } from "../../api/parse/fields.ts";
import { Interner } from "../../api/parse/interner.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import { parseLabel } from "../../api/parse/parse-label.ts";
import { CLAIMS, parsePorts } from "../../api/parse/parse-ports.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { Reason } from "../../api/reasons.ts";
import { type EndpointCondition, type EndpointFact, Endpoints } from "./endpoints.ts";
import type { SliceFact } from "./facts.ts";
import { parseProperties } from "./parse-properties.ts";

/** Limits of the EndpointSlice API (discovery/v1 validation). */
const MOST_ENDPOINTS = 1000;
const MOST_PORTS = 100;

/**
 * Reads an EndpointSlice. A slice without the multi-cluster label is not ours: neither fact nor problem. One
 * of unusable name, label or address type gives no fact; endpoints and ports that are wrong are left out one
 * by one. `clusterSetCidrs` are the ranges that no endpoint may lie in; `interner` is shared by what keeps many.
 */
export function parseSlice(
  object: unknown,
  clusterSetCidrs: readonly Cidr[] = [],
  interner: Interner = new Interner(),
): Parsed<SliceFact> {
  const { complaints, key, namespace } = parseObjectName("EndpointSlice", object, isSubdomainName);
  const label = (name: string) => fieldAt(object, "metadata", "labels", name);
  const service = label(LABEL_SERVICE_NAME);
  const result = { object: complaints.object, problems: complaints.problems };
  if (isUnset(service)) return { object: complaints.object, problems: [], ...(key && { key }) };
  if (key === undefined || namespace === undefined) return result;
  const family = parseFamily(object, complaints);
  if (typeof service !== "string" || !isLabelName(service)) {
    complaints.add("invalid-label", `metadata.labels[${LABEL_SERVICE_NAME}]`, service);
    return { ...result, key };
  }
  if (family === undefined) return { ...result, key };
  // Of origin and region, a bad value that counts as none can only make a slice farther.
  const cluster = parseLabel(object, LABEL_SOURCE_CLUSTER, isClusterId, complaints);
  const region = parseLabel(object, LABEL_REGION, isLabelValue, complaints);
  const properties = parseProperties(object, complaints, interner);
  const endpoints = parseEndpoints(object, family, clusterSetCidrs, complaints);
  const fact: SliceFact = {
    key,
    importKey: objectKey(namespace, service),
    active: parseLabel(object, LABEL_ACTIVE, isSwitch, complaints) !== "false",
    family,
    ports: interner.ports(
      parsePorts(fieldAt(object, "ports"), "ports", MOST_PORTS, CLAIMS.slice, complaints),
    ),
    endpoints: Endpoints.of(family, endpoints, interner),
    ...(cluster !== undefined && { cluster: interner.text(cluster) }),
    ...(region !== undefined && { region: interner.text(region) }),
    ...(properties !== undefined && { properties }),
  };
  return { ...result, key, fact };
}

function parseFamily(object: unknown, complaints: Complaints): Family | undefined {
  const type = fieldAt(object, "addressType");
  if (type === "IPv4" || type === "IPv6") return type;
  complaints.add(type === "FQDN" ? "fqdn-slice" : "invalid-object", "addressType", type);
  return undefined;
}

/** What `active` may be; a label is text, also where YAML would read a boolean. */
function isSwitch(text: string): boolean {
  return text === "true" || text === "false";
}

function parseEndpoints(
  object: unknown,
  family: Family,
  clusterSetCidrs: readonly Cidr[],
  complaints: Complaints,
): EndpointFact[] {
  const list = fieldAt(object, "endpoints");
  if (isUnset(list)) return [];
  if (!Array.isArray(list)) {
    complaints.add("invalid-object", "endpoints", list);
    return [];
  }
  if (list.length > MOST_ENDPOINTS) complaints.add("too-many-endpoints", "endpoints", list.length);
  const endpoints: EndpointFact[] = [];
  for (const [i, raw] of list.slice(0, MOST_ENDPOINTS).entries()) {
    const path = `endpoints[${i}]`;
    const address = parseEndpointAddress(raw, path, family, clusterSetCidrs, complaints);
    const condition = parseCondition(raw, path, complaints);
    if (address === undefined || condition === undefined) continue;
    const nodeName = parseText(raw, "nodeName", "invalid-name", isSubdomainName, path, complaints);
    const zone = parseText(raw, "zone", "invalid-label", isLabelValue, path, complaints);
    endpoints.push({
      address,
      condition,
      ...(nodeName !== undefined && { nodeName }),
      ...(zone !== undefined && { zone }),
    });
  }
  return endpoints;
}

/** The first address: all of an endpoint's addresses lead to the same pod, and consumers use the first. */
function parseEndpointAddress(
  raw: unknown,
  path: string,
  family: Family,
  clusterSetCidrs: readonly Cidr[],
  complaints: Complaints,
): string | undefined {
  const addresses = field(raw, "addresses");
  const first: unknown = Array.isArray(addresses) ? addresses[0] : undefined;
  const refuse = (reason: Reason) => complaints.add(reason, `${path}.addresses[0]`, first);
  const address = typeof first === "string" ? parseAddress(first) : "invalid-address";
  if (!isAddress(address)) return refuse(address);
  if (address.family !== family) return refuse("wrong-family");
  const special = classOf(address);
  if (special !== undefined) return refuse(special);
  if (clusterSetCidrs.some((cidr) => contains(cidr, address))) {
    return refuse("in-clusterset-cidr");
  }
  return address.text;
}

/** EndpointSlice v1: `ready` unset = ready, `serving` unset = as ready, `terminating` unset = false. */
function parseCondition(
  raw: unknown,
  path: string,
  complaints: Complaints,
): EndpointCondition | undefined {
  const read = (name: string, otherwise: boolean): boolean | undefined => {
    const value = fieldAt(raw, "conditions", name);
    if (isUnset(value)) return otherwise;
    if (typeof value === "boolean") return value;
    return complaints.add("invalid-object", `${path}.conditions.${name}`, value);
  };
  const ready = read("ready", true);
  const serving = read("serving", ready ?? false);
  const terminating = read("terminating", false);
  if (ready === undefined || serving === undefined || terminating === undefined) return undefined;
  if (ready) return "ready";
  if (!serving) return "not-ready";
  return terminating ? "terminating" : "serving";
}

function parseText(
  raw: unknown,
  name: string,
  reason: Reason,
  isText: (text: string) => boolean,
  path: string,
  complaints: Complaints,
): string | undefined {
  const value = field(raw, name);
  if (isUnset(value) || value === "") return undefined;
  if (typeof value === "string" && isText(value)) return value;
  return complaints.add(reason, `${path}.${name}`, value);
}
