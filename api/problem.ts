import type { Reason } from "./reasons.ts";

/** One part of an object that was refused, in words that lead its author to it. */
export interface Problem {
  readonly reason: Reason;
  /** Kind, namespace and name: `EndpointSlice demo/serve-x`. Printable, whatever the object held. */
  readonly object: string;
  /** Path of the field inside the object: `endpoints[3].addresses[0]`. */
  readonly field: string;
  /** The value as JSON, shortened; every control character is escaped. */
  readonly value: string;
}

/** Characters after which a shown value is cut: a hostile object must not fill a log. */
const SHOWN = 80;

/**
 * `value` as one printable line, for people: JSON, cut, with all but ASCII's visible characters escaped (a
 * terminal obeys control characters, and bidirectional ones make a reader see another text). It costs no more than
 * what is shown, however large the value is or how deep.
 */
export function shown(value: unknown): string {
  let json = "";
  for (const piece of jsonPieces(value)) {
    json += piece;
    if (json.length > SHOWN) break;
  }
  const ascii = json
    .slice(0, SHOWN + 1)
    .replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return ascii.length > SHOWN ? `${ascii.slice(0, SHOWN)}...` : ascii;
}

/**
 * What JSON.stringify makes of a value, piece by piece; a long text is cut. JSON.stringify has no end before the end
 * of the value, and overflows the stack on one of some thousand levels.
 */
function* jsonPieces(value: unknown): Generator<string> {
  if (Array.isArray(value)) {
    yield* inBrackets("[]", value, (item) => jsonPieces(item ?? null));
  } else if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    yield* inBrackets("{}", fields, function* ([name, field]) {
      yield* jsonPieces(name);
      yield ":";
      yield* jsonPieces(field);
    });
  } else if (typeof value === "string") yield JSON.stringify(value.slice(0, SHOWN + 1));
  else yield typeof value === "number" ? JSON.stringify(value) : String(value);
}

function* inBrackets<Item>(
  [open, close]: string,
  items: readonly Item[],
  piecesOf: (item: Item) => Iterable<string>,
): Generator<string> {
  yield open ?? "";
  let comma = "";
  for (const item of items) {
    yield comma;
    yield* piecesOf(item);
    comma = ",";
  }
  yield close ?? "";
}

/** `problem` as one sentence for a log or a terminal. */
export function problemText(problem: Problem): string {
  return `${problem.object}: ${problem.field}: ${problem.reason}: ${problem.value}`;
}
