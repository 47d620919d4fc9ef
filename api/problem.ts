import type { Reason } from "./reasons.ts";

/** One part of an object that was refused, in words that lead its author to it. */
export interface Problem {
  readonly reason: Reason;
  /** Kind, namespace and name: `EndpointSlice demo/serve-x`. Printable, whatever the object held. */
  readonly object: string;
  /** Path of the field inside the object: `endpoints[3].addresses[0]`. */
  readonly field: string;
  /** The value as JSON, shortened; every control character is escaped. */
  readonly value: string;
}

/** Characters after which a shown value is cut: a hostile object must not fill a log. */
const SHOWN = 80;

/**
 * `value` as one printable line, for people: JSON, cut, with all but ASCII's visible characters escaped (a
 * terminal obeys control characters, and bidirectional ones make a reader see another text).
 */
export function shown(value: unknown): string {
  const json = JSON.stringify(value) ?? "undefined";
  const ascii = json
    .slice(0, SHOWN + 1)
    .replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return ascii.length > SHOWN ? `${ascii.slice(0, SHOWN)}...` : ascii;
}

/** `problem` as one sentence for a log or a terminal. */
export function problemText(problem: Problem): string {
  return `${problem.object}: ${problem.field}: ${problem.reason}: ${problem.value}`;
}
