import type { Family } from "../../api/address.ts";
import { type Cidr, contains } from "../../api/cidr.ts";
import { isLabelName, isLabelValue, isSubdomainName } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import {
  parseAddressType,
  parseConditions,
  parseEndpointAddress,
  parseEndpoints,
} from "../../api/parse/parse-endpoint.ts";
import { parseText } from "../../api/parse/parse-text.ts";
import type { Reason } from "../../api/reasons.ts";
import type { EndpointFact, SliceFact } from "./facts.ts";
import { parseServicePorts } from "./parse-service-ports.ts";

/** Allowed addresses of endpoints. */
export interface EndpointRanges {
  /** Excluded: DNAT would loop. */
  readonly clusterSetCidrs: readonly Cidr[];
  /** If not empty, each endpoint must be in one of these. */
  readonly endpointCidrs: readonly Cidr[];
}

/** Parses the content of an EndpointSlice; undefined for an invalid address type. Invalid endpoints are left out. */
export function parseSliceContent(
  object: unknown,
  ranges: EndpointRanges,
  complaints: Complaints,
): Pick<SliceFact, "family" | "ports" | "endpoints"> | undefined {
  const family = parseAddressType(object, complaints);
  if (family === undefined) return undefined;
  return {
    family,
    ports: parseServicePorts(fieldAt(object, "ports"), "ports", "slice", complaints),
    endpoints: parseEndpoints(
      object,
      (raw, path) => parseEndpoint(raw, path, family, ranges, complaints),
      complaints,
    ),
  };
}

function parseEndpoint(
  raw: unknown,
  path: string,
  family: Family,
  { clusterSetCidrs, endpointCidrs }: EndpointRanges,
  complaints: Complaints,
): EndpointFact | undefined {
  const address = parseEndpointAddress(raw, path, family, clusterSetCidrs, complaints);
  const conditions = parseConditions(raw, path, complaints);
  if (address === undefined || conditions === undefined) return undefined;
  if (endpointCidrs.length > 0 && !endpointCidrs.some((cidr) => contains(cidr, address))) {
    return complaints.add("outside-endpoint-cidrs", `${path}.addresses[0]`, address.text);
  }
  const text = (name: string, reason: Reason, isText: (text: string) => boolean) =>
    parseText(raw, name, reason, isText, path, complaints);
  const hostname = text("hostname", "invalid-name", isLabelName);
  const nodeName = text("nodeName", "invalid-name", isSubdomainName);
  const zone = text("zone", "invalid-label", isLabelValue);
  return {
    address: address.text,
    ...conditions,
    ...(hostname !== undefined && { hostname }),
    ...(nodeName !== undefined && { nodeName }),
    ...(zone !== undefined && { zone }),
  };
}
