/** A JSON object that may be changed. */
export type Fields = { [name: string]: unknown };

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value by the names of the fields that lead to it. */
export function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((from, name) => (isFields(from) ? from[name] : undefined), value);
}

/** Where the values of an object are: a list, or an empty object, is one value. */
export function leaves(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (!isFields(value) || Object.keys(value).length === 0) return [path];
  return Object.entries(value).flatMap(([name, field]) => leaves(field, [...path, name]));
}

/** Puts a value where a path leads to. */
export function put(object: Fields, path: readonly string[], value: unknown): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) object[name] = value;
  else {
    const inner = object[name];
    const next: Fields = isFields(inner) ? inner : {};
    object[name] = next;
    put(next, rest, value);
  }
}

/** Takes away what is where a path leads to, and what is empty after that. */
export function remove(object: Fields, path: readonly string[]): void {
  const [name = "", ...rest] = path;
  const inner = object[name];
  if (rest.length === 0) delete object[name];
  else if (isFields(inner)) {
    remove(inner, rest);
    if (Object.keys(inner).length === 0) delete object[name];
  }
}
