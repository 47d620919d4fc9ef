import { bySeniority } from "../merge/seniority.ts";
import type { ExportRecord } from "../model/facts.ts";
import { encodeExports } from "../model/known-exports.ts";
import { acceptablePart, type MetadataRules } from "./accepted-metadata.ts";

/**
 * The value of `ANNOTATION_EXPORTS`: the exports of other clusters, oldest first, with the labels and annotations that this
 * cluster accepts. What it does not accept is not shown to users of the namespace. Undefined if no other cluster exports.
 */
export function exportsAnnotation(
  records: readonly ExportRecord[],
  rules: MetadataRules,
): string | undefined {
  const others = bySeniority(records.filter(({ cluster }) => cluster !== rules.own));
  return encodeExports(others.map((one) => ({ ...one, metadata: acceptablePart(one, rules) })));
}
