import { type Address, isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, containsAny, ofFamily } from "../../api/cidr.ts";
import {
  ANNOTATION_AUTHORED,
  ANNOTATION_CLUSTER_SELECTORS,
  ANNOTATION_IMPORT,
  MCS_GROUP,
  PROPERTY_CLUSTER_ID,
} from "../../api/keys.ts";
import { objectKey } from "../../api/names.ts";
import { field, fieldAt, isFields } from "../../api/parse/fields.ts";
import { parseJsonText } from "../../api/parse/json-text.ts";
import { allocate } from "../../controller/allocate/allocate.ts";
import type { AddressRules, Found, FoundObject } from "./found.ts";
import { type Finding, finding } from "./migration.ts";

/** Bounds the depth of the parsed JSON. */
const MOST_DEPTH = 20;
const MCS = `${MCS_GROUP}/v1beta1`;

/** A ServiceExport of a Service. PURE. */
export function serviceExport(
  { namespace, name }: FoundObject,
  exportedAnnotations?: Readonly<Record<string, string>>,
): object {
  return {
    apiVersion: MCS,
    kind: "ServiceExport",
    metadata: { namespace, name },
    ...(exportedAnnotations !== undefined && { spec: { exportedAnnotations } }),
  };
}

/** Annotations of an import that exists. PURE. */
export function annotatedImport(
  { namespace, name }: FoundObject,
  annotations: Readonly<Record<string, string>>,
): object {
  return { apiVersion: MCS, kind: "ServiceImport", metadata: { namespace, name, annotations } };
}

/** A Service of the old name that leads to the clusterset's name. PURE. */
export function alias(old: FoundObject, target: FoundObject): object {
  const externalName = `${target.name}.${target.namespace}.svc.clusterset.local`;
  const { namespace, name } = old;
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name },
    spec: { type: "ExternalName", externalName },
  };
}

/** Which clusters come first, as cluster selectors. */
export const PREFERENCES = {
  /** The own cluster, then all others alike. */
  local: { matchProperties: { [PROPERTY_CLUSTER_ID]: "@SameAsImporter@" } },
  /** All others alike, then the own cluster. */
  remote: {
    matchExpressions: [
      { key: PROPERTY_CLUSTER_ID, operator: "NotIn", values: ["@SameAsImporter@"] },
    ],
  },
  /** All clusters alike. */
  none: undefined,
} as const;

/** The annotation for a preference. PURE. */
export function selectors(preference: keyof typeof PREFERENCES): Readonly<Record<string, string>> {
  const first = PREFERENCES[preference];
  const list = first === undefined ? [] : [{ propertySelector: first }];
  return { [ANNOTATION_CLUSTER_SELECTORS]: JSON.stringify(list) };
}

/**
 * An import that stays, with an address of ours in place of one that only the other implementation serves: a ClusterIP of a
 * Service that it made, or an address of its own range. Our controller keeps what a user wrote, so both the spec and the
 * spec that it stored are changed, in one write. PURE.
 */
export function keptImport(found: Found, one: FoundObject): Finding {
  const spec = fieldAt(one.raw, "spec");
  const ips = field(spec, "ips");
  const foreign = (Array.isArray(ips) ? ips : []).filter((ip) => typeof ip === "string");
  const about = (
    reason: "made" | "needs-join" | "taken-over",
    detail: string,
    made?: Pick<Finding, "manifest" | "step">,
  ) => finding("ServiceImport", one, reason, detail, made);
  if (field(spec, "type") !== "ClusterSetIP") {
    return about("taken-over", "headless: it has no address");
  }
  if (foreign.length === 0) return about("taken-over", "its ports stay, and it gets an address");
  const { addresses } = found;
  const step = "switch";
  if (addresses === undefined) {
    const detail = `${foreign.join(", ")} is not of our range; step switch replaces it`;
    return about("needs-join", detail, { step });
  }
  if (foreign.every(addresses.isOurs)) return about("taken-over", "with its address");
  // Cloud Map has one address for each cluster; an import of ours has one for each family.
  const families = ["IPv4", "IPv6"].flatMap(
    (family) => foreign.find((ip) => ip.includes(":") === (family === "IPv6")) ?? [],
  );
  const next = families.flatMap((ip) => addresses.choose(one.namespace, one.name, ip) ?? []);
  if (next.length === 0) {
    return about("needs-join", "the agents have no range for its IP family", { step });
  }
  const isAdopted = one.annotations.get(ANNOTATION_IMPORT) === "adopted";
  const { namespace, name } = one;
  const stored = { annotations: { [ANNOTATION_AUTHORED]: JSON.stringify(authoredOf(one)) } };
  const manifest = {
    apiVersion: MCS,
    kind: "ServiceImport",
    metadata: { namespace, name, ...(isAdopted && stored) },
    spec: { type: "ClusterSetIP", ips: next },
  };
  const detail = `${foreign.join(", ")} becomes ${next.join(", ")}`;
  return about("made", detail, { step, manifest });
}

/** What the other implementation wrote, without its addresses: an adopted import has it in an annotation. */
function authoredOf({ annotations, raw }: FoundObject): object {
  const text = annotations.get(ANNOTATION_AUTHORED) ?? "";
  const stored = parseJsonText(text, text.length, MOST_DEPTH);
  const spec = isFields(stored) ? stored : fieldAt(raw, "spec");
  const { ips: _, ...rest } = isFields(spec) ? spec : {};
  return rest;
}

/**
 * Chooses as the controller does: by a hash, so that clusters with the same range mostly choose the same address. `held`:
 * IPAddresses. PURE.
 */
export function addressRules(
  cidrs: readonly Cidr[],
  imports: readonly FoundObject[],
  held: readonly FoundObject[],
): AddressRules {
  const listed = imports.flatMap(({ raw }) => fieldAt(raw, "spec", "ips") ?? []);
  const taken = new Set([...listed, ...held.map(({ name }) => name)].map(String));
  const parsed = (text: string): Address | undefined => {
    const address = parseAddress(text);
    return isAddress(address) ? address : undefined;
  };
  return {
    isOurs: (text) => {
      const address = parsed(text);
      return address !== undefined && containsAny(cidrs, address);
    },
    choose: (namespace, name, like) => {
      const family = parsed(like)?.family;
      if (family === undefined) return undefined;
      const [cidr] = ofFamily(cidrs, family);
      const vip = cidr && allocate(objectKey(namespace, name), family, cidr, taken, []);
      if (vip === undefined || vip === "exhausted") return undefined;
      taken.add(vip.text);
      return vip.text;
    },
  };
}
