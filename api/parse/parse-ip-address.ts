import { isAddress, parseAddress } from "../address.ts";
import { MCS_GROUP } from "../keys.ts";
import { isLabelName, type ObjectKey, objectKey } from "../names.ts";
import type { Parsed } from "./complaints.ts";
import { fieldAt } from "./fields.ts";
import { parseClusterObject } from "./object-name.ts";

/** An IPAddress of a VIP (KEP-1880): its name, which the API server gives out once, and the ServiceImport it belongs to. */
export interface IpAddressFact {
  readonly address: string;
  readonly holder: ObjectKey;
}

/**
 * Parses an IPAddress; one of a Service or of another product gives neither fact nor problem. The API server allows no change of
 * `spec.parentRef`.
 */
export function parseIpAddress(object: unknown): Parsed<IpAddressFact> {
  return parseClusterObject("IPAddress", object, isCanonical, (address, complaints) => {
    const parent = fieldAt(object, "spec", "parentRef");
    if (fieldAt(parent, "group") !== MCS_GROUP) return undefined;
    if (fieldAt(parent, "resource") !== "serviceimports") return undefined;
    const namespace = fieldAt(parent, "namespace");
    const name = fieldAt(parent, "name");
    if (typeof namespace !== "string" || !isLabelName(namespace)) {
      return complaints.add("invalid-name", "spec.parentRef.namespace", namespace);
    }
    if (typeof name !== "string" || !isLabelName(name)) {
      return complaints.add("invalid-name", "spec.parentRef.name", name);
    }
    return { address, holder: objectKey(namespace, name) };
  });
}

function isCanonical(name: string): boolean {
  const address = parseAddress(name);
  return isAddress(address) && address.text === name;
}
