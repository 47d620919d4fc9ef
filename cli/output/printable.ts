import { stringify } from "yaml";
import { escaped } from "../../api/problem.ts";

/** What a colour says; never the only place where it is said. */
export type Style = "good" | "warning" | "fault" | "faint" | "heading";

/** Colours a text for a terminal, or returns it as it is. */
export type Paint = (style: Style, text: string) => string;

/**
 * Controls, formats such as U+202E, unassigned characters, halves of pairs, separators of lines, letters that nobody sees, and marks that would pile up over
 * other lines.
 */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?!\p{VS})\p{DI}|(?<=\p{M}{4})\p{M}/gu;
const UNPRINTABLE_IN_LINES = new RegExp(`(?!\\n)(?:${UNPRINTABLE.source})`, "gu");

/**
 * Text for a terminal: the program's own words, line feeds and colours, and texts of others without characters that control a
 * terminal, forge a line or change the order of what is read. `Terminal` accepts nothing else.
 */
class PrintableText {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

export type Printable = PrintableText;

/** Nothing. */
export const NOTHING: Printable = new PrintableText("");

/** `text` on one line, as it may reach a terminal; its controls are written as `\u001b`. PURE. */
export function escapedText(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/** The lines of an own message as one sentence. PURE. */
export function oneLine(message: string): string {
  return message.trimEnd().replaceAll(/\s*\n\s*/g, "; ");
}

/** A template: its literal parts are the program's own, and what is inserted is escaped unless it is printable already. PURE. */
export function printable(
  literals: TemplateStringsArray,
  ...values: readonly (string | number | Printable)[]
): Printable {
  const parts = values.map((value, i) => `${plain(value)}${literals[i + 1] ?? ""}`);
  return new PrintableText(`${literals[0] ?? ""}${parts.join("")}`);
}

/** A document of several lines: all but line feeds is escaped. For texts in which others cannot begin a line of their own. PURE. */
export function printableLines(text: string): Printable {
  return new PrintableText(text.replace(UNPRINTABLE_IN_LINES, escaped));
}

/** `parts` one after the other. PURE. */
export function joined(parts: readonly Printable[], separator: Printable = NOTHING): Printable {
  return new PrintableText(parts.map(String).join(String(separator)));
}

/** `text` in a colour. PURE. */
export function painted(paint: Paint, style: Style | undefined, text: string): Printable {
  const shown = escapedText(text);
  return new PrintableText(style === undefined ? shown : paint(style, shown));
}

function plain(value: string | number | Printable): string {
  return value instanceof PrintableText ? value.toString() : escapedText(String(value));
}

/** Formats of `-o`. */
export const OUTPUTS = ["table", "json", "yaml"] as const;
/** One of `OUTPUTS`. */
export type Output = (typeof OUTPUTS)[number];

/** A value as a document for other programs, which read its texts as they are: controls are escapes of the format. PURE. */
export function documentText(value: unknown, output: Exclude<Output, "table">): Printable {
  const options = { aliasDuplicateObjects: false, lineWidth: 0 } as const;
  if (output === "json") return printableLines(`${JSON.stringify(value, undefined, 2)}\n`);
  const text = stringify(value, options);
  if (text.split("\n").every((line) => line === escapedText(line))) return printableLines(text);
  // Escapes are valid in double quotes only.
  const quoted = { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "QUOTE_DOUBLE" } as const;
  return printableLines(stringify(value, { ...options, ...quoted }));
}
