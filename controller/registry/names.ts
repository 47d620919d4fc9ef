import { createHash } from "node:crypto";
import type { Family } from "../../api/address.ts";
import { isLabelName, type ObjectKey, objectKey } from "../../api/names.ts";

/** Longest name of a namespace, and longest value of a label. */
const LONGEST = 63;
/** Hexadecimal digits of SHA-256 that tell shortened names apart. */
const DIGITS = 10;

/** Name of the Lease by which a cluster says in its registry who it is, and that it is alive. */
export const LEASE_NAME = "cluster";

/**
 * The namespace that a cluster publishes in, on whatever API server. An id that is too long for a namespace, or holds
 * a dot as no namespace does, is shortened, and a hash of the whole takes the place of what is lost.
 */
export function registryNamespace(clusterId: string): string {
  const name = `clusterset-registry-${clusterId}`;
  if (isLabelName(name)) return name;
  return shortened(name.replace(".", "-"), hashOf(clusterId));
}

/** The record of a Service: neither part holds a dot, so no two Services share a name. */
export function recordName(service: ObjectKey): string {
  const [namespace = "", name = ""] = service.split("/");
  return `${name}.${namespace}`;
}

/** The Service that a record of this name is of; undefined if it is no record's name. */
export function serviceOfRecord(name: string): ObjectKey | undefined {
  const [service = "", namespace = "", ...rest] = name.split(".");
  if (rest.length > 0 || !isLabelName(service) || !isLabelName(namespace)) return undefined;
  return objectKey(namespace, service);
}

/** Value of `LABEL_RECORD`: the record's name, or what is left of it, and a hash, if no label can hold it. */
export function recordLabel(service: ObjectKey): string {
  const name = recordName(service);
  return name.length <= LONGEST ? name : shortened(name, hashOf(name));
}

/** Name of a record's slice: below the record's, so that no Service can publish under another's names. */
export function sliceName(service: ObjectKey, family: Family, index: number): string {
  return `${recordName(service)}.${family === "IPv4" ? "v4" : "v6"}-${index}`;
}

/** The Service that a slice of this name belongs to; undefined if it is no name of a record's slice. */
export function serviceOfSlice(name: string): ObjectKey | undefined {
  const end = name.lastIndexOf(".");
  if (end < 0 || !isLabelName(name.slice(end + 1))) return undefined;
  return serviceOfRecord(name.slice(0, end));
}

function shortened(name: string, hash: string): string {
  return `${name.slice(0, LONGEST - DIGITS - 1)}-${hash}`;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGITS);
}
