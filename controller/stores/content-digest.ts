import { hash } from "node:crypto";
import { type Fields, fieldAt, isFields } from "../../api/parse/fields.ts";

/** Fields of an object that say nothing of their own about it. */
const APART: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"]);

/**
 * Stands for all that an object says, whoever wrote it: labels, annotations, and every field beside its metadata, kind and
 * status. Objects of equal digests are alike to every reader. A field that is empty is as one that is not there:
 * API servers turn the one into the other.
 */
export function contentDigest(object: unknown): string {
  return digestOf({
    labels: canonical(fieldAt(object, "metadata", "labels")),
    annotations: canonical(fieldAt(object, "metadata", "annotations")),
    content: isFields(object) ? canonicalFields(object, APART) : undefined,
  });
}

/** Stands for the status of an object. */
export function statusDigest(object: unknown): string {
  return digestOf(canonical(fieldAt(object, "status")));
}

/** Of a value that is canonical. */
function digestOf(value: unknown): string {
  return hash("sha256", JSON.stringify(value) ?? "", "base64");
}

/** The same value with its fields in order, and without empty ones; undefined if nothing is left. */
function canonical(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value ?? undefined;
  if (!Array.isArray(value)) return isFields(value) ? canonicalFields(value) : undefined;
  // The place of an item is part of what a list says.
  return value.length === 0 ? undefined : value.map((item) => canonical(item) ?? null);
}

/** `apart`: fields that are left out. */
function canonicalFields(fields: Fields, apart?: ReadonlySet<string>): Fields | undefined {
  // Without a prototype, a field may have any name, and is kept. This is asked of every object that comes or goes.
  const kept: Record<string, unknown> = { __proto__: null };
  let isEmpty = true;
  for (const name of Object.keys(fields).sort()) {
    const value = apart?.has(name) === true ? undefined : canonical(fields[name]);
    if (value === undefined) continue;
    kept[name] = value;
    isEmpty = false;
  }
  return isEmpty ? undefined : kept;
}
