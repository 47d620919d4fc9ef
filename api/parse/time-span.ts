import type { Complaints } from "./complaints.ts";
import { fieldAt, isUnset } from "./fields.ts";

/** A time span with further fields, as an annotation states it: `from=2026-11-24T04:00:00Z; for=2h; by=ann`. */
export interface TimeSpan {
  /** Milliseconds since 1970. */
  readonly from: number;
  /** Milliseconds. */
  readonly length: number;
  /** The other fields, by name. */
  readonly fields: ReadonlyMap<string, string>;
}

/** What an annotation may contain. */
export interface TimeSpanRules {
  /** The longest span in milliseconds. */
  readonly most: number;
  /** Names of further fields; others are invalid. */
  readonly fields: readonly string[];
}

/** Characters of an annotation, as typed and as `timeSpanText` writes it. A ClusterProperty has as many. */
const MOST_CHARACTERS = 256;
const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** Control and format characters would reach terminals, and could hide or reorder text. */
const PRINTABLE = /^[^\p{C}\p{Zl}\p{Zp}]*$/u;

/**
 * Parses fields that are separated by semicolons; undefined if any is missing, invalid, unknown or repeated, or if
 * `timeSpanText` would be invalid: other clusters read that. PURE.
 */
export function parseTimeSpan(text: unknown, rules: TimeSpanRules): TimeSpan | undefined {
  if (typeof text !== "string" || text.length > MOST_CHARACTERS) return undefined;
  if (!PRINTABLE.test(text)) return undefined;
  const fields = new Map<string, string>();
  for (const part of text.replace(/;\s*$/, "").split(";")) {
    const [, name = "", value = ""] = /^\s*([a-z]+)=(.*\S)\s*$/.exec(part) ?? [];
    const isKnown = name === "from" || name === "for" || rules.fields.includes(name);
    if (!isKnown || fields.has(name)) return undefined;
    fields.set(name, value);
  }
  const from = timeOf(fields.get("from"));
  const length = durationOf(fields.get("for") ?? "");
  if (from === undefined || length === undefined || length > rules.most) return undefined;
  fields.delete("from");
  fields.delete("for");
  const span = { from, length, fields };
  return isWritable(span) ? span : undefined;
}

/** The canonical text of a span, which `parseTimeSpan` accepts. */
export function timeSpanText({ from, length, fields }: TimeSpan): string {
  const all = [
    ...[["from", new Date(from).toISOString()] as const, ["for", `${length / 1000}s`] as const],
    ...fields,
  ];
  return all.map(([name, value]) => `${name}=${value}`).join("; ");
}

/** With its time zone a year may be before 0 or after 9999, and the canonical text is longer than a terse one. */
function isWritable(span: TimeSpan): boolean {
  const isTime = timeOf(new Date(span.from).toISOString()) !== undefined;
  return isTime && timeSpanText(span).length <= MOST_CHARACTERS;
}

/** A positive number and one unit: `90m`. */
export function durationOf(text: string): number | undefined {
  const [, digits, unit] = /^([1-9]\d{0,7})([smhd])$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * UNITS[unit as keyof typeof UNITS];
}

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
