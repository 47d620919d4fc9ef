import {
  ANNOTATION_EXPORTED_ANNOTATIONS,
  ANNOTATION_EXPORTED_AT,
  ANNOTATION_EXPORTED_LABELS,
} from "../../api/keys.ts";
import { isSubdomainName } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseJsonText } from "../../api/parse/json-text.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import { timeOf } from "../../api/parse/time.ts";
import { parseExportedAnnotations, parseExportedLabels } from "../model/exported-metadata.ts";
import type { ExportRecord } from "../model/facts.ts";
import { parseServiceProperties } from "../model/service-properties.ts";
import { serviceOfRecord } from "./names.ts";
import { isInPlace, isRecorded } from "./place.ts";
import type { Registry } from "./registry.ts";

/** Characters of all annotations of one object (API server validation). */
const MOST_ANNOTATION_CHARACTERS = 262_144;

/**
 * Reads a record out of a registry, by whoever wrote it. `Parsed.key` is where it lies, the fact's key whose it is. A
 * ServiceImport without `LABEL_RECORD` gives neither fact nor problem. One that does not agree on whose it is, or is of
 * unusable type, age or families, gives no fact; ports, policies and exported keys are left out one by one.
 */
export function decodeRecord(
  object: unknown,
  registry: Pick<Registry, "cluster" | "namespace">,
): Parsed<ExportRecord> {
  const { complaints, key } = parseObjectName("ServiceImport", object, isSubdomainName);
  if (!isRecorded(object)) return { object: complaints.object, problems: [], ...(key && { key }) };
  const result = { object: complaints.object, problems: complaints.problems };
  if (key === undefined) return result;
  const service = serviceOfRecord(key.slice(key.indexOf("/") + 1));
  if (!isInPlace(object, service, registry, complaints)) return { ...result, key };
  const type = fieldAt(object, "spec", "type");
  const at = fieldAt(object, "metadata", "annotations", ANNOTATION_EXPORTED_AT);
  const exported = timeOf(at);
  if (type !== "ClusterSetIP" && type !== "Headless") {
    complaints.add("invalid-object", "spec.type", type);
  } else if (exported === undefined) {
    complaints.add("invalid-object", `metadata.annotations[${ANNOTATION_EXPORTED_AT}]`, at);
  } else {
    const properties = parseServiceProperties(object, type === "Headless", complaints);
    if (properties === undefined) return { ...result, key };
    const metadata = decodeMetadata(object, complaints);
    const fact = { cluster: registry.cluster, key: service, exported, metadata, ...properties };
    return { ...result, key, fact };
  }
  return { ...result, key };
}

function decodeMetadata(object: unknown, complaints: Complaints): ExportRecord["metadata"] {
  const read = (annotation: string, parse: typeof parseExportedLabels) => {
    const text = fieldAt(object, "metadata", "annotations", annotation);
    const path = `metadata.annotations[${annotation}]`;
    if (isUnset(text)) return {};
    const map =
      typeof text === "string" ? parseJsonText(text, MOST_ANNOTATION_CHARACTERS, 1) : undefined;
    // Not JSON, or a list, is no mapping either; the text shows it.
    return parse(map ?? text, path, complaints);
  };
  return {
    labels: read(ANNOTATION_EXPORTED_LABELS, parseExportedLabels),
    annotations: read(ANNOTATION_EXPORTED_ANNOTATIONS, parseExportedAnnotations),
  };
}
