import { stringify } from "yaml";

/** Formats of `-o`. */
export const OUTPUTS = ["table", "json", "yaml"] as const;
/** One of `OUTPUTS`. */
export type Output = (typeof OUTPUTS)[number];

/** A value as a document for other programs. PURE. */
export function documentText(value: unknown, output: Exclude<Output, "table">): string {
  return output === "json"
    ? `${JSON.stringify(value, undefined, 2)}\n`
    : stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}
