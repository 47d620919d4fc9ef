import type { Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import {
  CONTROLLER_NAME,
  LABEL_ACTIVE,
  LABEL_MANAGED_BY,
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
import type { Complaints, Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { Interner } from "../../api/parse/interner.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import {
  type Conditions,
  MOST_SLICE_PORTS,
  parseAddressType,
  parseConditions,
  parseEndpointAddress,
  parseEndpoints,
} from "../../api/parse/parse-endpoint.ts";
import { CLAIMS, parsePort, parsePorts } from "../../api/parse/parse-ports.ts";
import { parseProperties } from "../../api/parse/parse-properties.ts";
import { parseLabel, parseText } from "../../api/parse/parse-text.ts";
import { parseShift } from "../../api/shift.ts";
import { type EndpointCondition, type EndpointFact, Endpoints } from "./endpoints.ts";
import type { SliceFact } from "./facts.ts";

/**
 * Parses an EndpointSlice; one without the multi-cluster label gives neither fact nor problem. Invalid endpoints and ports,
 * and endpoints in `clusterSetCidrs`, are ignored individually. `interner` saves memory if many slices share it.
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
  const family = parseAddressType(object, complaints);
  if (typeof service !== "string" || !isLabelName(service)) {
    complaints.add("invalid-label", `metadata.labels[${LABEL_SERVICE_NAME}]`, service);
    return { ...result, key };
  }
  if (family === undefined) return { ...result, key };
  // An invalid source cluster or region counts as missing, which can only make a slice farther.
  const cluster = parseLabel(object, LABEL_SOURCE_CLUSTER, isClusterId, complaints);
  const region = parseLabel(object, LABEL_REGION, isLabelValue, complaints);
  const properties = parseProperties(object, complaints, interner);
  const shift = parseShift(object, complaints);
  const endpoints = parseEndpoints(
    object,
    (raw, path) => parseEndpoint(raw, path, family, clusterSetCidrs, complaints),
    complaints,
  );
  const fact: SliceFact = {
    key,
    importKey: objectKey(namespace, service),
    active: parseLabel(object, LABEL_ACTIVE, isSwitch, complaints) !== "false",
    family,
    ports: interner.ports(
      parsePorts(
        fieldAt(object, "ports"),
        "ports",
        MOST_SLICE_PORTS,
        CLAIMS.slice,
        complaints,
        parsePort,
      ),
    ),
    endpoints: Endpoints.of(family, endpoints, interner),
    ...(cluster !== undefined && { cluster: interner.text(cluster) }),
    ...(label(LABEL_MANAGED_BY) === CONTROLLER_NAME && { ours: true }),
    ...(region !== undefined && { region: interner.text(region) }),
    ...(properties !== undefined && { properties }),
    ...(shift !== undefined && { shift }),
  };
  return { ...result, key, fact };
}

/** Labels are strings, also if YAML would read a boolean. */
function isSwitch(text: string): boolean {
  return text === "true" || text === "false";
}

function parseEndpoint(
  raw: unknown,
  path: string,
  family: Family,
  clusterSetCidrs: readonly Cidr[],
  complaints: Complaints,
): EndpointFact | undefined {
  const address = parseEndpointAddress(raw, path, family, clusterSetCidrs, complaints);
  const conditions = parseConditions(raw, path, complaints);
  if (address === undefined || conditions === undefined) return undefined;
  const nodeName = parseText(raw, "nodeName", "invalid-name", isSubdomainName, path, complaints);
  const zone = parseText(raw, "zone", "invalid-label", isLabelValue, path, complaints);
  return {
    address: address.text,
    condition: conditionOf(conditions),
    ...(nodeName !== undefined && { nodeName }),
    ...(zone !== undefined && { zone }),
  };
}

function conditionOf({ ready, serving, terminating }: Conditions): EndpointCondition {
  if (ready) return "ready";
  if (!serving) return "not-ready";
  return terminating ? "terminating" : "serving";
}
