import { createHash } from "node:crypto";
import { fieldAt, isFields } from "../../api/parse/fields.ts";

/**
 * Stands for all that an object says, whoever wrote it: labels, annotations, and every field beside its metadata, kind and
 * status. Objects of equal digests are alike to every reader. A field that is empty is as one that is not there:
 * API servers turn the one into the other.
 */
export function contentDigest(object: unknown): string {
  const content: Record<string, unknown> = isFields(object) ? { ...object } : {};
  for (const name of ["apiVersion", "kind", "metadata", "status"]) delete content[name];
  return digestOf({
    labels: fieldAt(object, "metadata", "labels"),
    annotations: fieldAt(object, "metadata", "annotations"),
    content,
  });
}

/** Stands for the status of an object. */
export function statusDigest(object: unknown): string {
  return digestOf(fieldAt(object, "status"));
}

function digestOf(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(canonical(value)) ?? "")
    .digest("base64");
}

/** The same value with its fields in order, and without empty ones; undefined if nothing is left. */
function canonical(value: unknown): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) {
    // The place of an item is part of what a list says.
    return value.length === 0 ? undefined : value.map((item) => canonical(item) ?? null);
  }
  if (!isFields(value)) return value;
  const fields = Object.keys(value)
    .sort()
    .map((name) => [name, canonical(value[name])] as const)
    .filter(([, field]) => field !== undefined);
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}
