import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { CodedError, type ErrorCode } from "../../common/errors.ts";
import { waitsForLock } from "./file-locks.ts";
import { start, startFault } from "./start.ts";

/** How a long-lived program ended. */
export interface Ending {
  /** `exit status 1`, `SIGKILL`, or why it could not be started. */
  readonly how: string;
  /** Why it did not start, also if what was to start it says so: CSP_EXEC_MISSING and others of `startFault`. */
  readonly unstarted?: ErrorCode;
  /** True if a signal ended it. */
  readonly killed: boolean;
  /** The end of what it wrote to stderr. */
  readonly stderr: string;
}

/** Milliseconds for a program without work to end. */
const LEAVE = 1000;
/** Characters of stderr that are kept. */
const LAST_WORDS = 2000;

/** A program that stays, is written to, and answers in lines. It lives from construction to its end. */
export class Coprocess {
  readonly #child: ChildProcessWithoutNullStreams | undefined;
  /** Settles, and never rejects, once the program is gone, or has not come. */
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
    const { promise, resolve } = Promise.withResolvers<Ending>();
    this.ended = promise;
    const unstarted = ({ message, code }: CodedError) =>
      resolve({ how: message, unstarted: code, killed: false, stderr: this.#stderr.trim() });
    let child: ChildProcessWithoutNullStreams;
    try {
      child = start(program, () => spawn(program, args, { detached: true, stdio }));
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      unstarted(error);
      return;
    }
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", onLine);
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      this.#stderr = (this.#stderr + chunk).slice(-LAST_WORDS);
    });
    // Writing to a program that has just died is no news: its ending is.
    child.stdin.on("error", () => undefined);
    child.on("error", (cause: NodeJS.ErrnoException) => unstarted(startFault(program, cause)));
    child.on("close", (status, signal) =>
      resolve({
        how: signal ?? `exit status ${status}`,
        // What starts other programs (stdbuf, nsenter) says so that it found none, as a shell does.
        ...(status === 127 && { unstarted: "CSP_EXEC_MISSING" }),
        killed: signal !== null,
        stderr: this.#stderr.trim(),
      }),
    );
  }

  write(text: string): void {
    this.#child?.stdin.write(text);
  }

  /** Undefined if it has read enough of what was written to take more; else settles when it has. */
  get room(): Promise<void> | undefined {
    const stdin = this.#child?.stdin;
    if (!stdin?.writableNeedDrain) return undefined;
    return new Promise((resolve) => stdin.once("drain", resolve));
  }

  /** True if it waits for another program to let go of a file. */
  get waitsForLock(): boolean {
    const pid = this.#child?.pid;
    return pid !== undefined && waitsForLock(pid);
  }

  /** Closes its input: it finishes what it has, and ends. */
  finish(): void {
    this.#child?.stdin.end();
  }

  /** The same, and waits for that; what has nothing to finish, and does not end, is killed. */
  async leave(): Promise<void> {
    this.finish();
    const timer = setTimeout(() => this.kill(), LEAVE);
    await this.ended;
    clearTimeout(timer);
  }

  /** What it has started itself (modprobe) may live on; its end is not waited for. */
  kill(): void {
    const child = this.#child;
    if (child === undefined) return;
    const letGo = () => {
      child.stdout.destroy();
      child.stderr.destroy();
    };
    child.once("exit", letGo);
    if (child.exitCode !== null || child.signalCode !== null) letGo();
    child.kill("SIGKILL");
  }
}
