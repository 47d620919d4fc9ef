import { FAMILIES, type Family } from "../../api/address.ts";
import {
  ANNOTATION_EXPORTED_ANNOTATIONS,
  ANNOTATION_EXPORTED_AT,
  ANNOTATION_EXPORTED_LABELS,
  ANNOTATION_IP_FAMILIES,
  ANNOTATION_LEFT_OUT,
} from "../../api/keys.ts";
import { isSubdomainName, namesOf } from "../../api/names.ts";
import type { Complaints, Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseJsonText } from "../../api/parse/json-text.ts";
import { parseObject } from "../../api/parse/object-name.ts";
import { timeOf } from "../../api/parse/time-span.ts";
import { parseExportedAnnotations, parseExportedLabels } from "../model/exported-metadata.ts";
import type { ExportRecord, SliceFact } from "../model/facts.ts";
import { OVER_LIMITS, type OverLimit } from "../model/limits.ts";
import { isInScope } from "../model/peer-scope.ts";
import { parseServiceProperties } from "../model/service-properties.ts";
import { parseSliceContent } from "../model/slice-content.ts";
import { serviceOfRecord, serviceOfSlice } from "./names.ts";
import { isRecordObject, isValidMetadata, type Registry } from "./validate-metadata.ts";

/** Of almost all clusters with such a CRD, and of all records without the annotation. Both families would give imports a VIP without endpoints, and conflicts with exports that state theirs. */
const UNSTATED = ["IPv4"] as const;
/** No ServiceExport is older: KEP-1645 is of 2020. */
const FIRST_EXPORT = Date.UTC(2020);
/** The last time that a Date can have. */
const LAST_TIME = 8.64e15;

/** API server limit of the annotations of an object. */
const MOST_ANNOTATION_CHARACTERS = 262_144;

/**
 * Decodes a record. `Parsed.key` is its key in the registry, the fact's key is the Service. ServiceImports without
 * `LABEL_RECORD` are ignored. No fact for a misplaced record, a namespace out of the peer's scope, or an invalid type,
 * time or family; invalid ports, policies and keys are left out.
 */
export function decodeRecord(
  object: unknown,
  registry: Pick<Registry, "cluster" | "namespace" | "namespaces">,
): Parsed<ExportRecord> {
  return parseObject("ServiceImport", object, isSubdomainName, (key, complaints) => {
    const service = serviceOfRecord(namesOf(key).name);
    if (!isRecordObject(object) || !isValidMetadata(object, service, registry, complaints))
      return undefined;
    const { namespace } = namesOf(service);
    if (registry.namespaces !== undefined && !isInScope(registry.namespaces, namespace)) {
      return complaints.add("namespace-not-allowed", "metadata.name", namespace);
    }
    const type = fieldAt(object, "spec", "type");
    if (type !== "ClusterSetIP" && type !== "Headless") {
      return complaints.add("invalid-object", "spec.type", type);
    }
    const exported = decodeAge(object, complaints);
    if (exported === undefined) return undefined;
    // An API server whose CRD is of mcs-api v0.3 or older removes the field.
    const families = decodeFamilies(object) ?? UNSTATED;
    const properties = parseServiceProperties(object, type === "Headless", complaints, families);
    if (properties === undefined) return undefined;
    const metadata = decodeMetadata(object, complaints);
    const { cluster } = registry;
    const leftOut = decodeLeftOut(object);
    return {
      ...{ cluster, key: service, exported, metadata, ...properties },
      ...(leftOut.length > 0 && { leftOut }),
    };
  });
}

/**
 * Creation of the ServiceExport; undefined if it is invalid. One that is too early to be true makes the export the newest:
 * its endpoints are used, but it decides nothing while another cluster exports the Service.
 */
function decodeAge(object: unknown, complaints: Complaints): number | undefined {
  const path = `metadata.annotations[${ANNOTATION_EXPORTED_AT}]`;
  const text = fieldAt(object, "metadata", "annotations", ANNOTATION_EXPORTED_AT);
  const time = timeOf(text);
  if (time === undefined) return complaints.add("invalid-object", path, text);
  if (time >= FIRST_EXPORT) return time;
  complaints.add("implausible-age", path, text);
  return LAST_TIME;
}

/** The IP families of the annotation; undefined if it is not there, or invalid. */
function decodeFamilies(object: unknown): readonly Family[] | undefined {
  const text = fieldAt(object, "metadata", "annotations", ANNOTATION_IP_FAMILIES);
  const valid = [FAMILIES, FAMILIES.toReversed(), ...FAMILIES.map((family) => [family])];
  return valid.find((families) => families.join() === text);
}

/** Words that are not known here, as of a later release, are ignored. */
function decodeLeftOut(object: unknown): readonly OverLimit[] {
  const text = fieldAt(object, "metadata", "annotations", ANNOTATION_LEFT_OUT);
  const words = typeof text === "string" ? text.split(",", OVER_LIMITS.length) : [];
  return OVER_LIMITS.filter((reason) => words.includes(reason));
}

function decodeMetadata(object: unknown, complaints: Complaints): ExportRecord["metadata"] {
  const read = (annotation: string, parse: typeof parseExportedLabels) => {
    const text = fieldAt(object, "metadata", "annotations", annotation);
    const path = `metadata.annotations[${annotation}]`;
    if (isUnset(text)) return {};
    const map =
      typeof text === "string" ? parseJsonText(text, MOST_ANNOTATION_CHARACTERS, 1) : undefined;
    // Invalid JSON is reported as it is.
    return parse(map ?? text, path, complaints);
  };
  return {
    labels: read(ANNOTATION_EXPORTED_LABELS, parseExportedLabels),
    annotations: read(ANNOTATION_EXPORTED_ANNOTATIONS, parseExportedAnnotations),
  };
}

/**
 * Decodes a slice of a record; `service` is the exported Service. Slices without `LABEL_RECORD` are ignored. No fact
 * for a misplaced slice or an invalid address type; invalid endpoints and ports are left out.
 */
export function decodeSlice(object: unknown, registry: Registry): Parsed<SliceFact> {
  return parseObject("EndpointSlice", object, isSubdomainName, (key, complaints) => {
    const service = serviceOfSlice(namesOf(key).name);
    if (!isRecordObject(object) || !isValidMetadata(object, service, registry, complaints))
      return undefined;
    const content = parseSliceContent(object, registry, complaints);
    return content && { key, service, ...content };
  });
}
