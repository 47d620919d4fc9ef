import type { Complaints } from "./complaints.ts";
import { fieldAt, isUnset } from "./fields.ts";

/** As the API writes a time. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** A time of the API in milliseconds since 1970; undefined if it is none. */
export function timeOf(text: unknown): number | undefined {
  // Date.parse also reads what is no timestamp, and some of it in the reader's own time zone: two machines would
  // disagree about which object is older.
  const time = typeof text === "string" && RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isFinite(time) ? time : undefined;
}

/** `metadata.creationTimestamp` in milliseconds since 1970; undefined if there is none, or it is wrong. */
export function parseCreated(object: unknown, complaints: Complaints): number | undefined {
  const text = fieldAt(object, "metadata", "creationTimestamp");
  if (isUnset(text)) return undefined;
  const time = timeOf(text);
  if (time !== undefined) return time;
  return complaints.add("invalid-object", "metadata.creationTimestamp", text);
}
