import { FAMILIES, type Family } from "../../api/address.ts";
import { ANNOTATION_AUTHORED, ANNOTATION_IMPORT } from "../../api/keys.ts";
import { isClusterId, isLabelName } from "../../api/names.ts";
import { field, fieldAt, isFields } from "../../api/parse/fields.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { ImportFact } from "./facts.ts";
import { parseServicePorts } from "./parse-service-ports.ts";
import { generationOf, parseConditions } from "./parse-status.ts";

/** Characters of an author's spec that are remembered: an object takes 256 KiB of annotations. */
const MOST_AUTHORED = 65_536;

/**
 * Reads a ServiceImport of this cluster (v1alpha1 or v1beta1, one schema). One of unusable name or type gives no
 * fact; what else is wrong is left out, and the agents tell of it.
 */
export function parseImport(object: unknown): Parsed<ImportFact> {
  const { complaints, key } = parseObjectName("ServiceImport", object, isLabelName);
  const result = { object: complaints.object, problems: complaints.problems };
  if (key === undefined) return result;
  const spec = fieldAt(object, "spec");
  const type = field(spec, "type");
  if (type !== "ClusterSetIP" && type !== "Headless") {
    complaints.add("invalid-object", "spec.type", type);
    return { ...result, key };
  }
  const origin = fieldAt(object, "metadata", "annotations", ANNOTATION_IMPORT);
  const authored = authoredOf(object, origin);
  const fact: ImportFact = {
    key,
    generation: generationOf(object),
    ...((origin === "created" || origin === "adopted") && { origin }),
    ...(authored !== undefined && { authored }),
    headless: type === "Headless",
    ips: listOf(field(spec, "ips"), isText),
    families: [...new Set(listOf(field(spec, "ipFamilies"), isFamily))],
    ports: parseServicePorts(field(spec, "ports"), "spec.ports", "import", complaints),
    clusters: clustersOf(object),
    conditions: parseConditions(object),
  };
  return { ...result, key, fact };
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

/** The items of a list that are what is asked for; none if it is no list. */
function listOf<T>(list: unknown, is: (item: unknown) => item is T): T[] {
  return Array.isArray(list) ? list.filter(is) : [];
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isFamily(value: unknown): value is Family {
  return FAMILIES.some((family) => family === value);
}
