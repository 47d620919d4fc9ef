import { ANNOTATION_SHIFT } from "./keys.ts";
import type { Complaints } from "./parse/complaints.ts";
import { fieldAt, isUnset } from "./parse/fields.ts";
import { parseTimeSpan, timeSpanText } from "./parse/time-span.ts";

/** The longest window in seconds in which nodes move one by one (`--drain-window`, `--return-window`). */
export const MOST_SHIFT_SECONDS = 3600;

/**
 * The window in which nodes adopt the conditions of a slice one by one. The slice has the conditions of the end of the window, which
 * readers without this annotation adopt at once.
 */
export interface Shift {
  /** `draining`: ready endpoints became serving ones, as a last resort. `returning`: they are ready again. */
  readonly direction: "draining" | "returning";
  /** The begin in milliseconds since 1970. */
  readonly from: number;
  /** Milliseconds. */
  readonly length: number;
}

/** Parses `ANNOTATION_SHIFT`; undefined if it is absent or invalid. */
export function parseShift(object: unknown, complaints?: Complaints): Shift | undefined {
  const value = fieldAt(object, "metadata", "annotations", ANNOTATION_SHIFT);
  if (isUnset(value)) return undefined;
  const rules = { most: MOST_SHIFT_SECONDS * 1000, fields: ["direction"] };
  const span = parseTimeSpan(value, rules);
  const direction = span?.fields.get("direction");
  if (span === undefined || (direction !== "draining" && direction !== "returning")) {
    return complaints?.add("invalid-shift", `metadata.annotations[${ANNOTATION_SHIFT}]`, value);
  }
  return { direction, from: span.from, length: span.length };
}

/** The value of `ANNOTATION_SHIFT`. */
export function shiftText({ direction, from, length }: Shift): string {
  return timeSpanText({ from, length, fields: new Map([["direction", direction]]) });
}
