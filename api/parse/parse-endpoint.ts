import { type Address, type Family, isAddress, parseAddress } from "../address.ts";
import { classOf } from "../address-class.ts";
import { type Cidr, contains } from "../cidr.ts";
import type { Reason } from "../reasons.ts";
import type { Complaints } from "./complaints.ts";
import { field, fieldAt, isUnset } from "./fields.ts";

/** Maximum endpoints of a slice (discovery/v1 validation). */
export const MOST_SLICE_ENDPOINTS = 1000;
/** Maximum ports of a slice (documentation of discovery/v1). */
export const MOST_SLICE_PORTS = 100;

/** The conditions of an endpoint, with the defaults of EndpointSlice v1. */
export interface Conditions {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
}

/** The family of a slice's addresses; undefined for other address types. */
export function parseAddressType(object: unknown, complaints: Complaints): Family | undefined {
  const type = fieldAt(object, "addressType");
  if (type === "IPv4" || type === "IPv6") return type;
  return complaints.add(type === "FQDN" ? "fqdn-slice" : "invalid-object", "addressType", type);
}

/** The endpoints of a slice, parsed by `read`; undefined ones are skipped. */
export function parseEndpoints<Endpoint>(
  object: unknown,
  read: (raw: unknown, path: string) => Endpoint | undefined,
  complaints: Complaints,
): Endpoint[] {
  const list = fieldAt(object, "endpoints");
  if (isUnset(list)) return [];
  if (!Array.isArray(list)) {
    complaints.add("invalid-object", "endpoints", list);
    return [];
  }
  if (list.length > MOST_SLICE_ENDPOINTS) {
    complaints.add("too-many-endpoints", "endpoints", list.length);
  }
  const endpoints: Endpoint[] = [];
  for (const [i, raw] of list.slice(0, MOST_SLICE_ENDPOINTS).entries()) {
    const endpoint = read(raw, `endpoints[${i}]`);
    if (endpoint !== undefined) endpoints.push(endpoint);
  }
  return endpoints;
}

/** The first address of an endpoint; all belong to the same pod. Addresses in `clusterSetCidrs` are rejected. */
export function parseEndpointAddress(
  raw: unknown,
  path: string,
  family: Family,
  clusterSetCidrs: readonly Cidr[],
  complaints: Complaints,
): Address | undefined {
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
  return address;
}

/** EndpointSlice v1: `ready` unset = ready, `serving` unset = as ready, `terminating` unset = false. */
export function parseConditions(
  raw: unknown,
  path: string,
  complaints: Complaints,
): Conditions | undefined {
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
  return { ready, serving, terminating };
}
