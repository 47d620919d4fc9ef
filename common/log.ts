import pino from "pino";
import { escaped } from "../api/problem.ts";
import { codeOf } from "./errors.ts";
import { prettyLine } from "./pretty.ts";

/** Severities, least severe first. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error"] as const;
/** One of `LOG_LEVELS`. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Formats of a log line: for log collectors, or for a terminal. */
export const LOG_FORMATS = ["json", "pretty"] as const;
/** One of `LOG_FORMATS`. */
export type LogFormat = (typeof LOG_FORMATS)[number];

/** Fields of a log line. `import` and `object` are names, `reason` is of api/reasons.ts, `error` is the caught error. */
export type LogFields = Readonly<Record<string, unknown>>;

/** A log line as a value, returned by pure code. */
export interface LogLine {
  readonly level: LogLevel;
  /** One short clause. */
  readonly message: string;
  readonly fields: LogFields;
}

/** The interface of the log. */
export interface Logger {
  /** True if lines of this level are written; check before building an expensive one. */
  enabled(level: LogLevel): boolean;
  write(line: LogLine): void;
  trace(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each line. */
  with(fields: LogFields): Logger;
}

/** Receives complete lines, including their line feeds. */
export interface LogSink {
  write(line: string): unknown;
}

/** Options of `createLogger`. */
export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Colours, in the pretty format. */
  readonly colour?: boolean;
}

/** A logger that passes each line to `sink` synchronously, so that a crash loses none. */
export function createLogger(options: LogOptions, sink: LogSink): Logger {
  const json: pino.DestinationStream = {
    // JSON escapes neither U+202E nor C1 controls, and `kubectl logs` writes lines to a terminal as they are.
    write: (line) => void sink.write(`${escaped(line.slice(0, -1))}\n`),
  };
  const pretty: pino.DestinationStream = {
    write: (line) => void sink.write(prettyLine(JSON.parse(line), options.colour ?? false)),
  };
  const root = pino(
    {
      level: options.level,
      // No process ID and host name: log collectors add better ones.
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
    },
    options.format === "json" ? json : pretty,
  );
  return loggerOf(root);
}

function loggerOf(root: pino.Logger): Logger {
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void =>
      root[level](fields, message);
  return {
    enabled: (level) => root.isLevelEnabled(level),
    write: ({ level, message, fields }) => root[level](fields, message),
    trace: at("trace"),
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => loggerOf(root.child(fields)),
  };
}

/** An error as data. Only an unexpected error, without a code, has its stack. */
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
