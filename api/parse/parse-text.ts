import type { Reason } from "../reasons.ts";
import type { Complaints } from "./complaints.ts";
import { field, fieldAt, isUnset } from "./fields.ts";

/** An optional string field of `from`, which is at `path`; undefined if it is unset, empty or invalid. */
export function parseText(
  from: unknown,
  name: string,
  reason: Reason,
  isText: (text: string) => boolean,
  path: string,
  complaints: Complaints,
): string | undefined {
  const value = field(from, name);
  if (isUnset(value) || value === "") return undefined;
  if (typeof value === "string" && isText(value)) return value;
  return complaints.add(reason, `${path}.${name}`, value);
}

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
