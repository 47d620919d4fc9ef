import { Composer, type CST, type Document, isScalar, Lexer, Parser, visit } from "yaml";
import { isFields } from "../../../api/parse/fields.ts";
import { type Mistake, mistake, mistakeAt, type Outcome } from "./mistake.ts";

/** Maximum characters of a YAML file, which take up to 2 us and 250 bytes of memory each; JSON takes a thirtieth of that. */
export const MOST_YAML = 4 * 1024 * 1024;
/** Maximum levels of nesting; a Kubernetes object has fewer than 30. */
const MOST_DEPTH = 100;
/** Maximum uses of an anchor, including those by aliases inside other anchors. */
const MOST_ALIASED = 10_000;

/** YAML 1.2 with the core schema, whatever a `%YAML` line contains. */
const OPTIONS = {
  version: "1.2",
  schema: "core",
  resolveKnownTags: false,
  stringKeys: true,
  strict: true,
  prettyErrors: false,
  logLevel: "silent",
} as const;

/** Parses the non-empty documents of a file. One mistake rejects the whole file. */
export function parseDocuments(text: string): Outcome<readonly unknown[]> {
  const parsed = parseText(text);
  // Otherwise later recursion would overflow the stack.
  if (!parsed.mistake && parsed.value.some((value) => isTooDeep(value))) return tooDeep();
  return parsed;
}

function parseText(text: string): Outcome<readonly unknown[]> {
  const json = parseJson(text);
  if (json !== undefined && "value" in json) return { value: [json.value] };
  if (text.length <= MOST_YAML) return parseYaml(text);
  return json ?? { mistake: mistake("too-large", `YAML of more than ${MOST_YAML} characters`) };
}

/** Parses a single JSON document, which is fast; undefined if the text does not look like JSON. */
function parseJson(text: string): Outcome<unknown> | undefined {
  const body = text.replace(/^\ufeff/, "");
  if (!/^\s*[[{]/.test(body)) return undefined;
  try {
    return { value: JSON.parse(body) };
  } catch (error) {
    // It may be YAML in flow style.
    return { mistake: mistake("syntax-error", String(error)) };
  }
}

function parseYaml(text: string): Outcome<readonly unknown[]> {
  try {
    const composer = new Composer(OPTIONS);
    const documents = [...composer.compose(tokensOf(text))];
    const errors = [...documents, composer.streamInfo()].flatMap((part) => part.errors);
    const positions = errors.map(({ message, pos }) => ({ message, offset: pos[0] }));
    const found = [...positions, ...documents.flatMap(unsupported)];
    const [first] = found.toSorted((a, b) => a.offset - b.offset);
    if (first !== undefined) {
      return { mistake: mistakeAt(text, first.offset, "syntax-error", first.message) };
    }
    const values = documents.map((document) => document.toJS({ maxAliasCount: MOST_ALIASED }));
    return { value: values.filter((value) => value !== null) };
  } catch (error) {
    if (error instanceof RangeError) return tooDeep();
    const isBomb = error instanceof ReferenceError;
    return { mistake: mistake(isBomb ? "alias-bomb" : "syntax-error", String(error)) };
  }
}

/** The syntax trees of the documents. Throws a RangeError if they are too deep for the composer, which recurses. */
function* tokensOf(text: string): Generator<CST.Token> {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > MOST_DEPTH) throw new RangeError("too deep");
  }
  yield* parser.end();
}

interface SyntaxError {
  readonly message: string;
  /** Position in the text, in UTF-16 units. */
  readonly offset: number;
}

/** Merge keys and aliases without an anchor, which the composer accepts. */
function unsupported(document: Document.Parsed): SyntaxError[] {
  const errors: SyntaxError[] = [];
  const report = (message: string, { range }: { range?: readonly number[] | null }) => {
    errors.push({ message, offset: range?.[0] ?? 0 });
  };
  const anchors = new Set<string>();
  visit(document, {
    Value: (_key, { anchor }) => void (anchor !== undefined && anchors.add(anchor)),
    Alias: (_key, alias) => {
      if (!anchors.has(alias.source)) report(`unknown alias *${alias.source}`, alias);
    },
    Pair: (_key, { key }) => {
      if (isScalar(key) && key.value === "<<" && key.type === "PLAIN") {
        report("merge keys (<<) are not part of YAML 1.2", key);
      }
    },
  });
  return errors;
}

function isTooDeep(value: unknown, depth = 0): boolean {
  if (depth > MOST_DEPTH) return true;
  const parts = Array.isArray(value) ? value : isFields(value) ? Object.values(value) : [];
  return parts.some((part) => isTooDeep(part, depth + 1));
}

function tooDeep(): { readonly mistake: Mistake } {
  return { mistake: mistake("too-deep", `more than ${MOST_DEPTH} levels`) };
}
