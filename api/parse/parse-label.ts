import type { Complaints } from "./complaints.ts";
import { fieldAt, isUnset } from "./fields.ts";

/** A label's value if it is one; undefined, as if there were none, if it is not. */
export function parseLabel(
  object: unknown,
  name: string,
  isValue: (text: string) => boolean,
  complaints: Complaints,
): string | undefined {
  const value = fieldAt(object, "metadata", "labels", name);
  if (isUnset(value)) return undefined;
  if (typeof value === "string" && isValue(value)) return value;
  complaints.add("invalid-label", `metadata.labels[${name}]`, value);
  return undefined;
}
