/**
 * The value that a JSON text of an annotation stands for; undefined if it is none, is longer than `most`
 * characters, is nested deeper than `depth`, or names a field of an object twice. The last is allowed by
 * RFC 8259, and every reader makes something else of it: what one has checked another would not see.
 */
export function parseJsonText(text: string, most: number, depth: number): unknown {
  if (text.length > most) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const shape = shapeOf(text);
    // The depth first: whoever walks a value that is nested deeply enough overflows the stack.
    return shape.depth <= depth && shape.fields === fieldsOf(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A text in quotation marks, with a colon if it is a field's name; or a bracket. */
const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|[[\]{}]/g;

/** How deep a text that is JSON is nested, and how many fields it names. */
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

/** Fields of all objects in a value. */
function fieldsOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, part: unknown) => sum + fieldsOf(part), own);
}
