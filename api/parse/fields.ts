/** A parsed JSON or YAML mapping. */
export type Fields = Readonly<Record<string, unknown>>;

/** True for a mapping: not null, not a list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Own property only: names such as `constructor` must not find inherited ones. */
export function field(from: unknown, name: string): unknown {
  return isFields(from) && Object.hasOwn(from, name) ? from[name] : undefined;
}

/** The field `name` if it is a string. */
export function textField(from: unknown, name: string): string | undefined {
  const found = field(from, name);
  return typeof found === "string" ? found : undefined;
}

/** Own property at a path; undefined if a part of it is missing. */
export function fieldAt(from: unknown, ...path: readonly string[]): unknown {
  return path.reduce(field, from);
}

/** True for an unset field. Kubernetes does not distinguish null and absent fields. */
export function isUnset(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** The items of a list; none for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
