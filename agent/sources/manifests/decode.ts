import { isUtf8 } from "node:buffer";
import { mistakeAt, type Outcome } from "./mistake.ts";

/** Decodes strict UTF-8 without control characters, some of which the YAML lexer uses internally. */
export function decodeText(bytes: Buffer): Outcome<string> {
  const text = bytes.toString("utf8");
  if (!isUtf8(bytes)) {
    // U+FFFD replaces invalid bytes. If the file contains it as well, the position is that of the first.
    return { mistake: mistakeAt(text, text.indexOf("\ufffd"), "binary", "not UTF-8") };
  }
  const control = text.search(/[^\P{Cc}\t\n\r\u0085]/u);
  if (control < 0) return { value: text };
  const code = text.charCodeAt(control).toString(16).padStart(4, "0");
  return { mistake: mistakeAt(text, control, "binary", `control character U+${code}`) };
}
