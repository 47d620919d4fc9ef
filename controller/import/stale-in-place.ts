import {
  ANNOTATION_CLUSTER_PROPERTIES,
  DISCOVERY_V1,
  LABEL_MANAGED_BY,
  LABEL_PROXY_NAME,
  LABEL_REGION,
  LABEL_SERVICE_NAME,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import { field, fieldAt, isFields } from "../../api/parse/fields.ts";
import type { Json, JsonFields, Manifest } from "../model/manifest.ts";

/** Labels that an imported slice has of us. */
const LABELS = [
  LABEL_MANAGED_BY,
  LABEL_PROXY_NAME,
  LABEL_REGION,
  LABEL_SERVICE_NAME,
  LABEL_SOURCE_CLUSTER,
];

/**
 * An imported slice of a cluster that has not been heard since we began, and has not renewed its Lease for its time: what
 * we once imported is all that is known of it, so the slice stays as it is, but that ready endpoints only serve. Undefined
 * if it is no slice. What others have added to it is left to them.
 */
export function staleInPlace(slice: unknown): Manifest | undefined {
  const namespace = fieldAt(slice, "metadata", "namespace");
  const name = fieldAt(slice, "metadata", "name");
  const endpoints = field(slice, "endpoints");
  if (typeof namespace !== "string" || typeof name !== "string") return undefined;
  if (!Array.isArray(endpoints)) return undefined;
  const annotations = textsOf(slice, "annotations", [ANNOTATION_CLUSTER_PROPERTIES]);
  return {
    apiVersion: DISCOVERY_V1,
    kind: "EndpointSlice",
    metadata: {
      name,
      namespace,
      labels: textsOf(slice, "labels", LABELS),
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    addressType: jsonOf(field(slice, "addressType")),
    ports: jsonOf(field(slice, "ports")),
    endpoints: endpoints.map((endpoint: unknown) => staleOf(jsonOf(endpoint))),
  };
}

function staleOf(endpoint: Json): Json {
  if (!isJsonFields(endpoint)) return endpoint;
  const { conditions } = endpoint;
  if (!isJsonFields(conditions) || conditions.ready !== true) return endpoint;
  return { ...endpoint, conditions: { ...conditions, ready: false, serving: true } };
}

function textsOf(
  slice: unknown,
  map: "annotations" | "labels",
  keys: readonly string[],
): Record<string, string> {
  const entries = keys.flatMap((key): [string, string][] => {
    const value = fieldAt(slice, "metadata", map, key);
    return typeof value === "string" ? [[key, value]] : [];
  });
  return Object.fromEntries(entries);
}

/** What an API server has answered is JSON all the way down. */
function jsonOf(value: unknown): Json {
  return isJson(value) ? value : null;
}

function isJson(value: unknown): value is Json {
  return value !== undefined;
}

function isJsonFields(value: Json | undefined): value is JsonFields {
  return isFields(value);
}
