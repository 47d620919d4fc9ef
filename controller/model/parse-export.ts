import { isLabelName, isLabelValue, type ObjectKey } from "../../api/names.ts";
import type { Complaints, Parsed } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseObject } from "../../api/parse/object-name.ts";
import { parseText } from "../../api/parse/parse-text.ts";
import { parseCreated } from "../../api/parse/time-span.ts";
import { parseExportedAnnotations, parseExportedLabels } from "./exported-metadata.ts";
import type { ExportFact } from "./facts.ts";
import { generationOf, parseConditions } from "./parse-status.ts";

/**
 * Parses a ServiceExport (v1alpha1 or v1beta1). Without uid or creation time, or while it is being deleted, there is
 * no fact. Labels and annotations that must not be exported are left out.
 */
export function parseExport(object: unknown): Parsed<ExportFact> {
  return parseObject("ServiceExport", object, isLabelName, (key, complaints) =>
    factOf(object, key, complaints),
  );
}

function factOf(object: unknown, key: ObjectKey, complaints: Complaints): ExportFact | undefined {
  const metadata = fieldAt(object, "metadata");
  if (!isUnset(fieldAt(metadata, "deletionTimestamp"))) return undefined;
  const uid = parseText(metadata, "uid", "invalid-object", isLabelValue, "metadata", complaints);
  const created = parseCreated(object, complaints);
  if (uid === undefined || created === undefined) {
    if (complaints.problems.length === 0) complaints.add("invalid-object", "metadata", metadata);
    return undefined;
  }
  const spec = fieldAt(object, "spec");
  const labels = fieldAt(spec, "exportedLabels");
  const annotations = fieldAt(spec, "exportedAnnotations");
  return {
    key,
    uid,
    generation: generationOf(object),
    created,
    metadata: {
      labels: parseExportedLabels(labels, "spec.exportedLabels", complaints),
      annotations: parseExportedAnnotations(annotations, "spec.exportedAnnotations", complaints),
    },
    conditions: parseConditions(object),
  };
}
