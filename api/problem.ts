import type { Reason } from "./reasons.ts";

/** A rejected part of an object. */
export interface Problem {
  readonly reason: Reason;
  /** Kind, namespace and name: `EndpointSlice demo/serve-x`. Printable. */
  readonly object: string;
  /** Path of the field: `endpoints[3].addresses[0]`. */
  readonly field: string;
  /** The value, in the format of `shown`. */
  readonly value: string;
}

/** Maximum characters of a shown value, so that an object cannot fill a log. */
const SHOWN = 80;

/** `value` as one line of JSON, cut and escaped for terminals. The cost depends only on the length of the result. */
export function shown(value: unknown): string {
  if (value === undefined) return "missing";
  let json = "";
  for (const piece of jsonPieces(value)) {
    json += piece;
    if (json.length > SHOWN) break;
  }
  const ascii = escaped(json.slice(0, SHOWN + 1));
  return ascii.length > SHOWN ? `${ascii.slice(0, SHOWN)}...` : ascii;
}

/** `text` with all but the visible characters of ASCII escaped. */
export function escaped(text: string): string {
  return text.replace(
    /[^\x20-\x7e]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Like JSON.stringify, in pieces and with long texts cut: JSON.stringify overflows the stack on deeply nested values. */
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

/** `problem` as one line. */
export function problemText(problem: Problem): string {
  return `${problem.object}: ${problem.field}: ${problem.reason}: ${problem.value}`;
}
