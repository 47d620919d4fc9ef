import { type Fields, isFields } from "../api/parse/fields.ts";
import { escaped } from "../api/problem.ts";

/** SGR colour by level. */
const COLOURS: Readonly<Record<string, number>> = {
  trace: 90,
  debug: 90,
  info: 32,
  warn: 33,
  error: 31,
};

/**
 * A log line for a terminal: time of day, level, message, then `name=value`, and the stack of an unexpected error. All but
 * visible ASCII is escaped, because names from other clusters must not control the terminal. PURE.
 */
export function prettyLine(record: Fields, colour: boolean): string {
  const { level, time, msg, ...fields } = record;
  const label = String(level).toUpperCase().padEnd(5);
  const shade = COLOURS[String(level)];
  const shownLabel = colour && shade !== undefined ? `\u001b[${shade}m${label}\u001b[0m` : label;
  const words = Object.entries(fields).map(([name, value]) => ` ${name}=${valueText(name, value)}`);
  const head = `${String(time).slice(11, 23)} ${shownLabel} ${escaped(String(msg))}`;
  return `${head}${words.length === 0 ? "" : " "}${words.join("")}\n${stackText(fields.error)}`;
}

function valueText(name: string, value: unknown): string {
  const shown = name === "error" ? errorText(value) : value;
  if (typeof shown === "string" && /^[\x21-\x7e]+$/.test(shown) && !/["=\\]/.test(shown)) {
    return shown;
  }
  return escaped(JSON.stringify(shown));
}

/** `CODE: message: message of the cause`. */
function errorText(error: unknown): unknown {
  if (!isFields(error)) return error;
  const parts = [error.code ?? error.type, error.message, errorText(error.cause)];
  return parts.filter((part) => typeof part === "string").join(": ");
}

function stackText(error: unknown): string {
  const stack = isFields(error) ? error.stack : undefined;
  if (typeof stack !== "string") return "";
  const frames = stack.split("\n").filter((line) => line.startsWith("    at "));
  return frames.map((frame) => `${escaped(frame)}\n`).join("");
}
