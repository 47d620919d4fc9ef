import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** How a long-lived program ended. */
export interface Ending {
  /** `exit status 1`, `SIGKILL`, or why it could not be started. */
  readonly how: string;
  /** True if there is no such program. */
  readonly missing: boolean;
  /** True if a signal ended it. */
  readonly killed: boolean;
  /** The end of what it wrote to stderr. */
  readonly stderr: string;
}

/** Characters of stderr that are kept. */
const LAST_WORDS = 2000;

/** A program that stays, is written to, and answers in lines. It lives from construction to its end. */
export class Coprocess {
  readonly #child: ChildProcessWithoutNullStreams;
  /** Settles, and never rejects, once the program is gone. */
  readonly ended: Promise<Ending>;
  #stderr = "";

  /** `keep`: descriptors of ours that it is to hold open as long as it lives. */
  constructor(
    [program, ...args]: readonly [string, ...string[]],
    onLine: (line: string) => void,
    keep: readonly number[] = [],
  ) {
    // A group of its own: Ctrl-C at a terminal reaches the whole group, and would cut a transaction in two. It
    // cannot outlive the agent, whatever happens to that: its input ends.
    const stdio = ["pipe", "pipe", "pipe", ...keep] as ["pipe", "pipe", "pipe"];
    this.#child = spawn(program, args, { detached: true, stdio });
    createInterface({ input: this.#child.stdout }).on("line", onLine);
    this.#child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      this.#stderr = (this.#stderr + chunk).slice(-LAST_WORDS);
    });
    // Writing to a program that has just died is no news: its ending is.
    this.#child.stdin.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      const end = (how: string, missing: boolean, killed = false) =>
        resolve({ how, missing, killed, stderr: this.#stderr.trim() });
      this.#child.on("error", (cause: NodeJS.ErrnoException) =>
        end(cause.message, cause.code === "ENOENT"),
      );
      // 127: what starts other programs (stdbuf, nsenter) says so that it found none, as a shell does.
      this.#child.on("close", (status, signal) =>
        end(signal ?? `exit status ${status}`, status === 127, signal !== null),
      );
    });
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  /** Undefined if it has read enough of what was written to take more; else settles when it has. */
  get room(): Promise<void> | undefined {
    const { stdin } = this.#child;
    if (!stdin.writableNeedDrain) return undefined;
    return new Promise((resolve) => stdin.once("drain", resolve));
  }

  /** Closes its input: it finishes what it has, and ends. */
  finish(): void {
    this.#child.stdin.end();
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}
