import pino from "pino";
import { codeOf } from "./errors.ts";
import { prettyLine } from "./pretty.ts";

/** Severities, least severe first. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
/** One of `LOG_LEVELS`. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How a line is written: for machines, or for a person at a terminal. */
export const LOG_FORMATS = ["json", "pretty"] as const;
/** One of `LOG_FORMATS`. */
export type LogFormat = (typeof LOG_FORMATS)[number];

/**
 * What a line is about, by name. By convention `import` and `object` name what it concerns, `reason` is a
 * word of api/reasons.ts, and `error` is whatever was caught.
 */
export type LogFields = Readonly<Record<string, unknown>>;

/** A log line as a value: what pure code returns when it has something to say. */
export interface LogLine {
  readonly level: LogLevel;
  /** A plain sentence. */
  readonly message: string;
  readonly fields: LogFields;
}

/** The log, as narrow as its users need it. */
export interface Logger {
  /** True if lines of this level are written: worth asking before building an expensive one. */
  enabled(level: LogLevel): boolean;
  write(line: LogLine): void;
  trace(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose every line carries `fields`, too. */
  with(fields: LogFields): Logger;
}

/** Where finished lines go, each with its line feed. */
export interface LogSink {
  write(line: string): unknown;
}

/** What a log is made of. */
export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Colours, in the pretty format. */
  readonly colour?: boolean;
}

/** A log that gives each line to `sink` before the call returns: a crash loses none. */
export function createLogger(options: LogOptions, sink: LogSink): Logger {
  const json: pino.DestinationStream = { write: (line) => void sink.write(line) };
  const pretty: pino.DestinationStream = {
    write: (line) => void sink.write(prettyLine(JSON.parse(line), options.colour ?? false)),
  };
  const root = pino(
    {
      level: options.level,
      // No process id and host name: whoever collects the lines of many nodes adds better ones.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
    },
    options.format === "json" ? json : pretty,
  );
  return new PinoLogger(root);
}

class PinoLogger implements Logger {
  readonly #pino: pino.Logger;

  constructor(root: pino.Logger) {
    this.#pino = root;
  }

  enabled(level: LogLevel): boolean {
    return this.#pino.isLevelEnabled(level);
  }

  write(line: LogLine): void {
    this.#pino[line.level](line.fields, line.message);
  }

  trace(message: string, fields: LogFields = {}): void {
    this.#pino.trace(fields, message);
  }

  debug(message: string, fields: LogFields = {}): void {
    this.#pino.debug(fields, message);
  }

  info(message: string, fields: LogFields = {}): void {
    this.#pino.info(fields, message);
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#pino.warn(fields, message);
  }

  error(message: string, fields: LogFields = {}): void {
    this.#pino.error(fields, message);
  }

  with(fields: LogFields): Logger {
    return new PinoLogger(this.#pino.child(fields));
  }
}

/** An error as data. Only what nobody foresaw, so what has no code, shows its stack. */
function describeError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return { message: String(thrown) };
  const code = codeOf(thrown);
  return {
    ...(code === undefined ? { type: thrown.name } : { code }),
    message: thrown.message,
    ...(thrown.cause === undefined ? {} : { cause: describeError(thrown.cause) }),
    ...(code === undefined ? { stack: thrown.stack } : {}),
  };
}
