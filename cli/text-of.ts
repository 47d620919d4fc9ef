import { readFileSync } from "node:fs";
import { CodedError } from "../common/errors.ts";

/** The text of a file, or of standard input for `-`. Throws CSP_MANIFESTS_UNREADABLE. */
export function textOf(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CodedError("CSP_MANIFESTS_UNREADABLE", `${file}: ${why}`, { cause });
  }
}
