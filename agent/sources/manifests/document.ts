import { Composer, type CST, type Document, Lexer, Parser, type YAMLError } from "yaml";
import { mistake, mistakeAt, type Outcome } from "./mistake.ts";
import { MOST_DEPTH, plainValue, Refusal } from "./plain-value.ts";

/**
 * UTF-16 units of YAML that one file may have. The parser takes about 0.5 us for each, up to 2 us and 250
 * bytes of memory in the worst text; JSON takes a thirtieth of that, and has no limit but the file's.
 */
export const MOST_YAML = 4 * 1024 * 1024;

const TOO_DEEP = `more than ${MOST_DEPTH} levels`;

/**
 * YAML 1.2, whatever a `%YAML` line says: no merge keys, no `yes` for true, and of tags only those of the
 * core schema. Keys are strings. Duplicate ones are found by `plainValue`, in linear time.
 */
const OPTIONS = {
  version: "1.2",
  schema: "core",
  resolveKnownTags: false,
  stringKeys: true,
  uniqueKeys: false,
  strict: true,
  prettyErrors: false,
  logLevel: "silent",
} as const;

/** Reads the documents of one file; those that are empty are left out. One mistake spoils the file. */
export function parseDocuments(text: string): Outcome<readonly unknown[]> {
  const json = parseJson(text);
  if (json !== undefined && "value" in json) return { value: [json.value] };
  if (text.length <= MOST_YAML) return parseYaml(text);
  return json ?? { mistake: mistake("too-large", `YAML of more than ${MOST_YAML} characters`) };
}

/** A single JSON document, and quickly; undefined if the text does not look like one. */
function parseJson(text: string): Outcome<unknown> | undefined {
  const body = text.replace(/^\ufeff/, "");
  if (!/^\s*[[{]/.test(body)) return undefined;
  const deep = tooDeepAt(body);
  if (deep !== undefined) return { mistake: mistakeAt(body, deep, "too-deep", TOO_DEEP) };
  try {
    return { value: JSON.parse(body) };
  } catch (error) {
    // What is no JSON may be YAML, where collections are written alike.
    return { mistake: mistake("syntax-error", String(error)) };
  }
}

/**
 * Where JSON becomes too deep. V8 would parse it all the same, a million levels in a gigabyte of memory, and
 * the first who recursed into the value would overflow the stack.
 */
function tooDeepAt(json: string): number | undefined {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < json.length; i++) {
    const char = json[i];
    if (char === '"') quoted = !quoted;
    else if (quoted) i += char === "\\" ? 1 : 0;
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    if (depth > MOST_DEPTH) return i;
  }
  return undefined;
}

function parseYaml(text: string): Outcome<readonly unknown[]> {
  const { stackTraceLimit } = Error;
  // The parser makes an Error of each mistake; most of its time would go into traces that no one reads.
  Error.stackTraceLimit = 0;
  try {
    return { value: [...yamlValues(text)] };
  } catch (error) {
    if (error instanceof Refusal) {
      return { mistake: mistakeAt(text, error.offset, error.fault, error.message) };
    }
    // The parser promises to throw nothing; if it does, this file is refused and the agent goes on.
    return { mistake: mistake("syntax-error", String(error)) };
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function* yamlValues(text: string): Generator<unknown> {
  const composer = new Composer(OPTIONS);
  for (const token of yamlTokens(text)) {
    for (const document of composer.next(token)) yield* plainValues(document);
  }
  for (const document of composer.end()) yield* plainValues(document);
  refuse(composer.streamInfo().errors);
}

/**
 * The syntax trees of the documents. What follows recurses into them, so their depth is bounded here; and
 * it keeps all errors of a document, so the first one ends it.
 */
function* yamlTokens(text: string): Generator<CST.Token> {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    yield* checked(parser.next(lexeme));
    if (parser.stack.length > MOST_DEPTH) {
      throw new Refusal("too-deep", parser.offset, TOO_DEEP);
    }
  }
  yield* checked(parser.end());
}

function* checked(tokens: Iterable<CST.Token>): Generator<CST.Token> {
  for (const token of tokens) {
    if (token.type === "error") throw new Refusal("syntax-error", token.offset, token.message);
    yield token;
  }
}

function* plainValues(document: Document.Parsed): Generator<unknown> {
  refuse(document.errors);
  const value = plainValue(document.contents);
  if (value !== null) yield value;
}

/** Throws the error that stands first in the text, if there is any. */
function refuse(errors: readonly YAMLError[]): void {
  const [first] = errors.toSorted((a, b) => a.pos[0] - b.pos[0]);
  if (first !== undefined) throw new Refusal("syntax-error", first.pos[0], first.message);
}
