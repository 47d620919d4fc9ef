import { createHash } from "node:crypto";
import type { Family } from "../../api/address.ts";
import { isLabelName, namesOf, type ObjectKey, objectKey } from "../../api/names.ts";

/** Length of a label name or value. */
const LONGEST = 63;
/** Hexadecimal digits of the hash in a shortened name. */
const DIGITS = 10;

/** Name of the Lease in a registry. */
export const LEASE_NAME = "cluster";

/** The registry namespace of a cluster. An ID that is too long or has a dot is shortened, with a hash. */
export function registryNamespace(clusterId: string): string {
  const name = `clusterset-registry-${clusterId}`;
  if (isLabelName(name)) return name;
  return shortened(name.replace(".", "-"), hashOf(clusterId));
}

/** Name of a record. Unique, because neither part has a dot. */
export function recordName(service: ObjectKey): string {
  const { namespace, name } = namesOf(service);
  return `${name}.${namespace}`;
}

/** The Service of a record; undefined for another name. */
export function serviceOfRecord(name: string): ObjectKey | undefined {
  const [service = "", namespace = "", ...rest] = name.split(".");
  if (rest.length > 0 || !isLabelName(service) || !isLabelName(namespace)) return undefined;
  return objectKey(namespace, service);
}

/** Value of `LABEL_RECORD`: the record's name, shortened if necessary. */
export function recordLabel(service: ObjectKey): string {
  const name = recordName(service);
  return name.length <= LONGEST ? name : shortened(name, hashOf(name));
}

/** Name of a record's slice; unique per Service. */
export function sliceName(service: ObjectKey, family: Family, index: number): string {
  return `${recordName(service)}.${family === "IPv4" ? "v4" : "v6"}-${index}`;
}

/** The Service of a slice; undefined for another name. */
export function serviceOfSlice(name: string): ObjectKey | undefined {
  const end = name.lastIndexOf(".");
  if (end < 0 || !isLabelName(name.slice(end + 1))) return undefined;
  return serviceOfRecord(name.slice(0, end));
}

/** The namespace whose export an object of a registry belongs to; undefined for others, such as the Lease. */
export function exportingNamespace(name: string): string | undefined {
  const service = serviceOfRecord(name) ?? serviceOfSlice(name);
  return service && namesOf(service).namespace;
}

/** The namespace of a Service; empty for objects whose names are no Service's. */
export function namespaceOfService(service: ObjectKey | undefined): string {
  return service === undefined ? "" : namesOf(service).namespace;
}

function shortened(name: string, hash: string): string {
  return `${name.slice(0, LONGEST - DIGITS - 1)}-${hash}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGITS);
}
