import { writeSync } from "node:fs";
import { createLogger, type Logger, type LogOptions, type LogSink } from "./log.ts";

/** Bytes of buffered lines while the reader is slow: a minute of a busy agent's log. */
const MOST_KEPT = 256 * 1024;
/** Milliseconds between retries. */
const AGAIN = 100;
/** Milliseconds that a process exit waits for the reader, and between retries then. */
const LAST = { most: 500, again: 10 };

/** Options of a `LogWriter`. */
export interface LogWriterOptions {
  /** Writes some of `bytes` without blocking; returns how many. Throws the errors of `write(2)`: EAGAIN, ENOSPC, EPIPE. */
  readonly write: (bytes: Uint8Array) => number;
  /** Calls `run` later, without keeping the process alive. */
  readonly later: (run: () => void) => void;
  /** Called when writing works again: how many lines were lost, and the last reason. */
  readonly lost: (lines: number, why: string) => void;
}

/**
 * Writes log lines synchronously, and neither blocks nor throws: a full disk or closed pipe must not stop the process. Lines
 * are buffered while the reader is slow, then dropped and counted. Each new line is a retry.
 */
export class LogWriter implements LogSink {
  readonly #options: LogWriterOptions;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  /** True if a line was written in part: the next lost or kept line has to end it with a line feed. */
  #begun = false;
  #lost = 0;
  #why = "";
  #waiting = false;

  constructor(options: LogWriterOptions) {
    this.#options = options;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#keptBytes + bytes.length > MOST_KEPT) {
      this.#lose(1, "log reader too slow");
      return;
    }
    this.#keep(bytes);
    if (this.#waiting) return;
    this.flush();
  }

  /** Writes buffered lines. True if none is left: on errors other than EAGAIN, they are lost. */
  flush(): boolean {
    try {
      while (this.#kept.length > 0) this.#writeFirst();
    } catch (error) {
      const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
      if (why === "EAGAIN") this.#wait();
      else this.#lose(this.#kept.splice(0).length, why);
      return this.#kept.length === 0;
    }
    this.#reportLost();
    return this.#kept.length === 0;
  }

  #writeFirst(): void {
    const [line] = this.#kept;
    if (line === undefined) return;
    const written = this.#options.write(line);
    this.#begun = written < line.length;
    this.#keptBytes -= written;
    if (this.#begun) this.#kept[0] = line.subarray(written);
    else this.#kept.shift();
  }

  #keep(bytes: Buffer): void {
    const line = this.#begun && this.#kept.length === 0 ? Buffer.concat([LINE_FEED, bytes]) : bytes;
    this.#kept.push(line);
    this.#keptBytes += line.length;
  }

  #lose(lines: number, why: string): void {
    this.#lost += lines;
    this.#why = why;
    if (this.#kept.length === 0) this.#keptBytes = 0;
  }

  #wait(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#options.later(() => {
      this.#waiting = false;
      this.flush();
    });
  }

  /** The report is a line that may be lost as well. */
  #reportLost(): void {
    const lines = this.#lost;
    if (lines === 0) return;
    this.#lost = 0;
    this.#options.lost(lines, this.#why);
    if (this.#lost > 0) this.#lost = lines;
  }
}

const LINE_FEED = Buffer.from("\n");
/** The descriptor of standard error. */
const STDERR = 2;

/** A log on standard error. No error of it, such as a full disk or a closed pipe, ends or blocks the process. */
export function standardErrorLog(options: LogOptions): Logger {
  // Accessing the stream makes Node set a pipe or socket to non-blocking.
  void process.stderr.writable;
  const writer = new LogWriter({
    write: (bytes) => writeSync(STDERR, bytes),
    later: (run) => setTimeout(run, AGAIN).unref(),
    lost: (lines, why) => log.warn("Log lines were lost", { lines, why }),
  });
  const log = createLogger(options, writer);
  process.once("exit", () => {
    const nothing = new Int32Array(new SharedArrayBuffer(4));
    for (let waited = 0; !writer.flush() && waited < LAST.most; waited += LAST.again) {
      Atomics.wait(nothing, 0, 0, LAST.again);
    }
  });
  return log;
}
