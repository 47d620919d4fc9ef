import { isUtf8 } from "node:buffer";
import { mistakeAt, type Outcome } from "./mistake.ts";

/** U+FFFD, which decoding puts in place of bytes that are no UTF-8, and its own spelling. */
const REPLACEMENT = "\ufffd";
const REPLACEMENT_BYTES = Buffer.from(REPLACEMENT);

/**
 * The bytes of a file as text: strict UTF-8. Control characters other than tab and line ends make it
 * `binary`: no manifest holds them, and the YAML lexer uses some of them as marks of its own.
 */
export function decodeText(bytes: Buffer): Outcome<string> {
  const text = bytes.toString("utf8");
  if (!isUtf8(bytes)) {
    return { mistake: mistakeAt(text, firstInvalid(bytes, text), "binary", "not UTF-8") };
  }
  const control = text.search(/[^\P{Cc}\t\n\r\u0085]/u);
  if (control < 0) return { value: text };
  const code = text.charCodeAt(control).toString(16).padStart(4, "0");
  return { mistake: mistakeAt(text, control, "binary", `control character U+${code}`) };
}

/** Index in `text` of the first replacement character that `bytes` did not spell out. */
function firstInvalid(bytes: Buffer, text: string): number {
  let offset = 0;
  let from = 0;
  for (;;) {
    const at = text.indexOf(REPLACEMENT, from);
    offset += Buffer.byteLength(text.slice(from, at));
    const end = offset + REPLACEMENT_BYTES.length;
    if (!bytes.subarray(offset, end).equals(REPLACEMENT_BYTES)) return at;
    offset = end;
    from = at + 1;
  }
}
