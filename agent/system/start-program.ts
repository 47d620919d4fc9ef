import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import type { ErrorCode } from "../../common/errors.ts";
import type { Argv } from "./program-result.ts";

/** A program that was started. */
export interface Program {
  /** Undefined if it did not start. */
  readonly child: ChildProcessWithoutNullStreams | undefined;
  /** Resolves once it has ended, or failed to start; never rejects. */
  readonly ended: Promise<Ending>;
}

/** How a program ended. */
export interface Ending {
  /** `exit status 1`, `SIGKILL`, or why it could not be started. */
  readonly how: string;
  /** Exit status; undefined if it did not start, or a signal ended it. */
  readonly status: number | undefined;
  /** Why it did not start: CSP_EXEC_MISSING, also for a program that it should have started, CSP_EXEC_STARVED or CSP_EXEC_FAILED. */
  readonly unstarted?: ErrorCode;
  /** The end of what it wrote to stderr, with long lines cut. */
  readonly stderr: string;
}

/** Milliseconds of a tick in /proc (USER_HZ), the same on every architecture. */
const TICK = 10;
/** Errors when file descriptors, processes or memory have run out; all are temporary. */
const STARVED: readonly unknown[] = ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"];

/**
 * Starts a program in the locale C and passes its standard output to `onLine` line by line. `keep`: our descriptors that it inherits
 * and holds open until it ends.
 */
export function startProgram(
  [program, ...args]: Argv,
  onLine: (line: string) => void,
  keep: readonly number[] = [],
): Program {
  const { promise: ended, resolve } = Promise.withResolvers<Ending>();
  const unstarted = (how: string, code: ErrorCode) =>
    resolve({ how, status: undefined, unstarted: code, stderr: "" });
  const failed = ({ message, code }: NodeJS.ErrnoException) => unstarted(message, codeFor(code));
  const child = spawned(program, args, keep, failed);
  if (child === undefined) return { child, ended };
  child.on("error", failed);
  // Without a free descriptor, the child has no streams; the error follows.
  if (child.stdio === undefined) return { child: undefined, ended };
  createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY }).on("line", onLine);
  const stderr = new TextEnd();
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => stderr.add(chunk));
  // A failed write needs no report: the program has ended, which is reported.
  child.stdin.on("error", () => undefined);
  child.on("close", (status, signal) =>
    resolve({
      how: signal ?? `exit status ${status}`,
      status: status ?? undefined,
      // Programs that start others (env, nsenter, sh, stdbuf) exit with 127 if there is no such program.
      ...(status === 127 && { unstarted: "CSP_EXEC_MISSING" }),
      stderr: stderr.text,
    }),
  );
  return { child, ended };
}

/** Milliseconds of processor time that a running program has used; 0 if that is unknown. */
export function cpuTime({ child }: Program): number {
  try {
    // The name, in parentheses, may contain anything; user and system time are the 12th and 13th field after it.
    const stat = readFileSync(`/proc/${child?.pid}/stat`, "utf8");
    const [user, system] = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(11, 13);
    return (Number(user) + Number(system)) * TICK;
  } catch {
    return 0;
  }
}

/** Kills a program without waiting for processes that it started (modprobe) and that hold its output open. */
export function killProgram({ child }: Program): void {
  child?.kill("SIGKILL");
  for (const stream of child?.stdio ?? []) stream?.destroy();
}

/** Undefined after a call of `failed`. */
function spawned(
  program: string,
  args: readonly string[],
  keep: readonly number[],
  failed: (error: NodeJS.ErrnoException) => void,
): ChildProcessWithoutNullStreams | undefined {
  const stdio = ["pipe", "pipe", "pipe", ...keep] as ["pipe", "pipe", "pipe"];
  try {
    // In a process group of its own, because Ctrl-C at a terminal would interrupt a transaction.
    return spawn(program, args, { detached: true, stdio, env: { ...process.env, LC_ALL: "C" } });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // Without memory, Node.js throws.
    failed(error);
    return undefined;
  }
}

function codeFor(code: string | undefined): ErrorCode {
  if (STARVED.includes(code)) return "CSP_EXEC_STARVED";
  return code === "ENOENT" ? "CSP_EXEC_MISSING" : "CSP_EXEC_FAILED";
}

/** Characters that are kept. */
const MOST_CHARACTERS = 2000;
/** Characters of a line that are kept: nft repeats its input, and marks all of it in the next line. */
const MOST_OF_LINE = 500;

/** The end of a stream of text, of which each long line is cut. */
export class TextEnd {
  #text = "";
  /** Characters of the last line. */
  #line = 0;

  add(chunk: string): void {
    for (const [i, part] of chunk.split("\n").entries()) {
      if (i > 0) {
        this.#text += "\n";
        this.#line = 0;
      }
      const kept = part.slice(0, MOST_OF_LINE - this.#line);
      this.#text = (this.#text + kept).slice(-MOST_CHARACTERS);
      this.#line += kept.length;
    }
  }

  get text(): string {
    return this.#text.trim();
  }
}
