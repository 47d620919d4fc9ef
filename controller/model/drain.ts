import { ANNOTATION_DRAIN } from "../../api/keys.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import { parseTimeSpan, timeSpanText } from "../../api/parse/time-span.ts";

/** The longest drain. A longer absence is a removal: a drain that is forgotten must not become one. */
export const LONGEST_DRAIN_MS = 30 * 24 * 3_600_000;

/** A cluster is out of rotation for a time. */
export interface Drain {
  /** Milliseconds since 1970. */
  readonly from: number;
  /** Milliseconds since 1970. */
  readonly until: number;
  /** Who drained it. */
  readonly by?: string;
  /** Why. */
  readonly reason?: string;
}

/** A drain, and the object that states it. */
export interface PlacedDrain extends Drain {
  /** `Secret clusterset-proxy/peer-c1`. */
  readonly where: string;
}

/** Whether a drain takes effect; `today`: milliseconds since 1970. */
export function phaseOf({ from, until }: Drain, today: number): "planned" | "in-force" | "ended" {
  if (today < from) return "planned";
  return today < until ? "in-force" : "ended";
}

/** Parses `ANNOTATION_DRAIN`; undefined if it is absent or invalid: an invalid one drains nothing. */
export function parseDrain(object: unknown, complaints: Complaints): Drain | undefined {
  const value = fieldAt(object, "metadata", "annotations", ANNOTATION_DRAIN);
  if (isUnset(value)) return undefined;
  const span = parseTimeSpan(value, { most: LONGEST_DRAIN_MS, fields: ["by", "reason"] });
  if (span === undefined) {
    return complaints.add("invalid-drain", `metadata.annotations[${ANNOTATION_DRAIN}]`, value);
  }
  const { from, length, fields } = span;
  const by = fields.get("by");
  const reason = fields.get("reason");
  return {
    ...{ from, until: from + length },
    ...(by !== undefined && { by }),
    ...(reason !== undefined && { reason }),
  };
}

/** The value of `ANNOTATION_DRAIN`. */
export function drainText({ from, until, by, reason }: Drain): string {
  const fields = new Map<string, string>();
  if (by !== undefined) fields.set("by", by);
  if (reason !== undefined) fields.set("reason", reason);
  return timeSpanText({ from, length: until - from, fields });
}
