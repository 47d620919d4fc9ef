/** Any parsed JSON or YAML mapping. */
export type Fields = Readonly<Record<string, unknown>>;

/** True for a plain mapping: not null, not a list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Own property only: a name such as `constructor` must not find what every object inherits. */
export function field(from: unknown, name: string): unknown {
  return isFields(from) && Object.hasOwn(from, name) ? from[name] : undefined;
}

/** Own property by way of several names; undefined where the way ends. */
export function fieldAt(from: unknown, ...path: readonly string[]): unknown {
  return path.reduce(field, from);
}

/** True for a field that is absent: Kubernetes treats null and unset alike. */
export function isUnset(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}
