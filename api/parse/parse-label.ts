import type { Complaints } from "./complaints.ts";
import { fieldAt, isUnset } from "./fields.ts";

/** The value of a label; undefined if it is unset or invalid. */
export function parseLabel(
  object: unknown,
  name: string,
  isValue: (text: string) => boolean,
  complaints: Complaints,
): string | undefined {
  const value = fieldAt(object, "metadata", "labels", name);
  if (isUnset(value)) return undefined;
  if (typeof value === "string" && isValue(value)) return value;
  return complaints.add("invalid-label", `metadata.labels[${name}]`, value);
}
