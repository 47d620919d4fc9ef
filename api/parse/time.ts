import type { Complaints } from "./complaints.ts";
import { fieldAt, isUnset } from "./fields.ts";

/** Format of times in the Kubernetes API. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** A time of the API in milliseconds since 1970; undefined if it is invalid. */
export function timeOf(text: unknown): number | undefined {
  // Date.parse accepts other formats, some of them in the local time zone: nodes would disagree about ages.
  const time = typeof text === "string" && RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isFinite(time) ? time : undefined;
}

/** `metadata.creationTimestamp` in milliseconds since 1970; undefined if it is unset or invalid. */
export function parseCreated(object: unknown, complaints: Complaints): number | undefined {
  const text = fieldAt(object, "metadata", "creationTimestamp");
  if (isUnset(text)) return undefined;
  const time = timeOf(text);
  if (time !== undefined) return time;
  return complaints.add("invalid-object", "metadata.creationTimestamp", text);
}
