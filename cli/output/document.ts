import { stringify } from "yaml";
import { escapedText, type Printable, printableLines } from "./printable.ts";

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
