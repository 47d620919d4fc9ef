import { isLabelName, isLabelValue } from "../../api/names.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseObjectName } from "../../api/parse/object-name.ts";
import { parseText } from "../../api/parse/parse-text.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import { parseCreated } from "../../api/parse/time.ts";
import { parseExportedAnnotations, parseExportedLabels } from "./exported-metadata.ts";
import type { ExportFact } from "./facts.ts";
import { generationOf, parseConditions } from "./parse-status.ts";

/**
 * Reads a ServiceExport (v1alpha1 or v1beta1, one schema). One without uid or time of creation gives no fact: every
 * API server sets both. Nor does one that is being deleted, whoever else is waited for: it is withdrawn. Labels and
 * annotations that must not be exported are left out one by one.
 */
export function parseExport(object: unknown): Parsed<ExportFact> {
  const { complaints, key } = parseObjectName("ServiceExport", object, isLabelName);
  const result = { object: complaints.object, problems: complaints.problems };
  if (key === undefined) return result;
  const metadata = fieldAt(object, "metadata");
  if (!isUnset(fieldAt(metadata, "deletionTimestamp"))) return { ...result, key };
  const uid = parseText(metadata, "uid", "invalid-object", isLabelValue, "metadata", complaints);
  const created = parseCreated(object, complaints);
  if (uid === undefined || created === undefined) {
    if (complaints.problems.length === 0) complaints.add("invalid-object", "metadata", metadata);
    return { ...result, key };
  }
  const spec = fieldAt(object, "spec");
  const labels = fieldAt(spec, "exportedLabels");
  const annotations = fieldAt(spec, "exportedAnnotations");
  const fact: ExportFact = {
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
  return { ...result, key, fact };
}
