/** Parses JSON; undefined if it is invalid. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses JSON of at most `most` characters and `depth` levels; undefined if invalid, or with duplicate keys. */
export function parseJsonText(text: string, most: number, depth: number): unknown {
  const value = text.length > most ? undefined : jsonOf(text);
  if (value === undefined) return undefined;
  const shape = shapeOf(text);
  // The depth first: deep recursion would overflow the stack.
  return shape.depth <= depth && shape.fields === fieldsOf(value) ? value : undefined;
}

/** A string, with the colon after a key; or a bracket. */
const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|[[\]{}]/g;

/** Nesting depth of valid JSON, and number of keys in its text. */
function shapeOf(json: string): { readonly depth: number; readonly fields: number } {
  let fields = 0;
  let deepest = 0;
  let depth = 0;
  for (const [token, colon] of json.matchAll(TOKEN)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (colon !== undefined) fields++;
    deepest = Math.max(deepest, depth);
  }
  return { depth: deepest, fields };
}

/** Number of keys in a parsed value. */
function fieldsOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, part: unknown) => sum + fieldsOf(part), own);
}
