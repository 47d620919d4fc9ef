import { FAMILIES, type Family } from "../../api/address.ts";
import {
  ANNOTATION_AUTHORED,
  ANNOTATION_EXPORTS,
  ANNOTATION_IMPORT,
  ANNOTATION_PREVIOUS_IPS,
} from "../../api/keys.ts";
import { isClusterId, isLabelName, type ObjectKey } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { Complaints } from "../../api/parse/complaints.ts";
import { field, fieldAt, isFields } from "../../api/parse/fields.ts";
import { parseObject } from "../../api/parse/object-name.ts";
import { parseTierPolicy } from "../../api/tiers/tier-policy.ts";
import type { ImportFact } from "./facts.ts";
import { parseServicePorts } from "./parse-service-ports.ts";
import { generationOf, parseConditions } from "./parse-status.ts";

/** Characters of a stored spec; annotations have 256 KiB. */
const MOST_AUTHORED = 65_536;
/** One of each family. */
const MOST_PREVIOUS_IPS = 2;

/**
 * Parses a ServiceImport (v1alpha1 or v1beta1). No fact for an invalid name or type; other invalid parts are left
 * out, and the agents report them.
 */
export function parseImport(object: unknown): Parsed<ImportFact> {
  return parseObject("ServiceImport", object, isLabelName, (key, complaints) =>
    factOf(object, key, complaints),
  );
}

function factOf(object: unknown, key: ObjectKey, complaints: Complaints): ImportFact | undefined {
  const spec = fieldAt(object, "spec");
  const type = field(spec, "type");
  if (type !== "ClusterSetIP" && type !== "Headless") {
    return complaints.add("invalid-object", "spec.type", type);
  }
  const origin = fieldAt(object, "metadata", "annotations", ANNOTATION_IMPORT);
  const authored = authoredOf(object, origin);
  const exports = fieldAt(object, "metadata", "annotations", ANNOTATION_EXPORTS);
  const isManaged = origin === "created" || origin === "adopted";
  return {
    key,
    generation: generationOf(object),
    ...(isManaged && { origin }),
    ...(isManaged && isText(exports) && { exports }),
    ...(authored !== undefined && { authored }),
    headless: type === "Headless",
    ips: listOf(field(spec, "ips"), isText),
    previousIps: previousIpsOf(object, origin),
    families: [...new Set(listOf(field(spec, "ipFamilies"), isFamily))],
    ports: parseServicePorts(field(spec, "ports"), "spec.ports", "import", complaints),
    // The agents report what is invalid.
    tiers: parseTierPolicy(object, new Complaints("")),
    clusters: clustersOf(object),
    conditions: parseConditions(object),
  };
}

function previousIpsOf(object: unknown, origin: unknown): string[] {
  const text = fieldAt(object, "metadata", "annotations", ANNOTATION_PREVIOUS_IPS);
  const isOurs = origin === "created" || origin === "adopted";
  return isOurs && isText(text) ? text.split(",", MOST_PREVIOUS_IPS) : [];
}

function authoredOf(object: unknown, origin: unknown): string | undefined {
  if (origin === "created") return undefined;
  const text =
    origin === "adopted"
      ? fieldAt(object, "metadata", "annotations", ANNOTATION_AUTHORED)
      : JSON.stringify(fieldAt(object, "spec"));
  return isText(text) && text.length <= MOST_AUTHORED ? text : undefined;
}

function clustersOf(object: unknown): string[] {
  const clusters = listOf(fieldAt(object, "status", "clusters"), isFields);
  return listOf(
    clusters.map((raw) => field(raw, "cluster")),
    isText,
  ).filter(isClusterId);
}

function listOf<T>(list: unknown, is: (item: unknown) => item is T): T[] {
  return Array.isArray(list) ? list.filter(is) : [];
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isFamily(value: unknown): value is Family {
  return FAMILIES.some((family) => family === value);
}
