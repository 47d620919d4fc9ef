import { writeSync } from "node:fs";
import { createLogger, type Logger, type LogOptions, type LogSink } from "./log.ts";

/** Bytes of lines that are kept while the reader does not read: a minute of a busy agent's. */
const MOST_KEPT = 256 * 1024;
/** Milliseconds until the next try to write them. */
const AGAIN = 100;
/** Milliseconds that the end of the process waits for a reader, and between two tries then. */
const LAST = { most: 500, again: 10 };

/** What a LogWriter is made of. */
export interface LogWriterOptions {
  /** Writes some of `bytes` at once, and gives how many. Throws as `write(2)` fails: EAGAIN, ENOSPC, EPIPE. */
  readonly write: (bytes: Uint8Array) => number;
  /** Calls `run` a while from now, if the process is still there. */
  readonly later: (run: () => void) => void;
  /** Told that lines have gone through again, how many were lost before, and why the last of them. */
  readonly lost: (lines: number, why: string) => void;
}

/**
 * Writes a log's lines, each before the call returns if that is possible, and neither waits nor throws if it is not:
 * a full disk or a reader that is gone must not stop who writes. What the reader is slow to take is kept up to a
 * bound; what cannot be written is lost, and counted. Every line is a new try, so that it ends by itself.
 */
export class LogWriter implements LogSink {
  readonly #options: LogWriterOptions;
  #kept: Buffer[] = [];
  #keptBytes = 0;
  /** True if the first kept line is the rest of one, or the last lost one was begun: a line feed has to end it. */
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
      this.#lose(1, "nobody reads the log");
      return;
    }
    this.#keep(bytes);
    if (this.#waiting) return;
    this.flush();
  }

  /** Tries to write what is kept. True if nothing is left: what could not be written is lost, unless it is to wait. */
  flush(): boolean {
    try {
      while (this.#kept.length > 0) this.#writeFirst();
    } catch (error) {
      const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
      if (why === "EAGAIN") this.#wait();
      else this.#lose(this.#kept.splice(0).length, why);
      return this.#kept.length === 0;
    }
    this.#tell();
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

  /** By a line of its own, which may be lost as well. */
  #tell(): void {
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

/**
 * A log on standard error: standard output belongs to what a command prints. Nothing that becomes of it, a full disk
 * or a pipe that nobody reads, ends or holds up the process.
 */
export function standardErrorLog(options: LogOptions): Logger {
  // Node makes a pipe or a socket non-blocking when it is first asked for it. Until then it would block.
  void process.stderr.writable;
  const writer = new LogWriter({
    write: (bytes) => writeSync(STDERR, bytes),
    later: (run) => setTimeout(run, AGAIN).unref(),
    lost: (lines, why) => log.warn("Lines of the log were lost.", { lines, why }),
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
