/** A JSON log line, parsed. */
export type LogRecord = Readonly<Record<string, unknown>>;

/** SGR colour by level. */
const COLOURS: Readonly<Record<string, number>> = {
  trace: 90,
  debug: 90,
  info: 32,
  warn: 33,
  error: 31,
};

/**
 * A log record for a person: time of day, level, sentence, then `name=value`. One line, but for the stack of
 * an error that nobody foresaw. Whatever is not visible ASCII is escaped: a name that another cluster chose
 * must not move the cursor of the terminal that reads the log. PURE.
 */
export function prettyLine(record: LogRecord, colour: boolean): string {
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
  if (!isRecord(error)) return error;
  const parts = [error.code ?? error.type, error.message, errorText(error.cause)];
  return parts.filter((part) => typeof part === "string").join(": ");
}

function stackText(error: unknown): string {
  const stack = isRecord(error) ? error.stack : undefined;
  if (typeof stack !== "string") return "";
  const frames = stack.split("\n").filter((line) => line.startsWith("    at "));
  return frames.map((frame) => `${escaped(frame)}\n`).join("");
}

function escaped(text: string): string {
  return text.replace(
    /[^\x20-\x7e]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function isRecord(value: unknown): value is LogRecord {
  return typeof value === "object" && value !== null;
}
