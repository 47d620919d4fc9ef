import { hash } from "node:crypto";
import { type Fields, fieldAt, isFields } from "../../api/parse/fields.ts";

/** Fields that are not content. */
const APART: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"]);

/**
 * Digest of labels, annotations, owners and content of an object, by any writer. Empty fields count as missing, because API
 * servers convert them.
 */
export function contentDigest(object: unknown): string {
  return digestOf({
    labels: canonical(fieldAt(object, "metadata", "labels")),
    annotations: canonical(fieldAt(object, "metadata", "annotations")),
    owners: canonical(fieldAt(object, "metadata", "ownerReferences")),
    content: isFields(object) ? canonicalFields(object, APART) : undefined,
  });
}

/** Digest of the status of an object. */
export function statusDigest(object: unknown): string {
  return digestOf(canonical(fieldAt(object, "status")));
}

function digestOf(value: unknown): string {
  return hash("sha256", JSON.stringify(value) ?? "", "base64");
}

/** The value with sorted fields and without empty ones; undefined if nothing is left. */
function canonical(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value ?? undefined;
  if (!Array.isArray(value)) return isFields(value) ? canonicalFields(value) : undefined;
  // The order of a list matters.
  return value.length === 0 ? undefined : value.map((item) => canonical(item) ?? null);
}

function canonicalFields(fields: Fields, apart?: ReadonlySet<string>): Fields | undefined {
  // Without a prototype any field name is safe.
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
