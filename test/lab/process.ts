import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { SLOWNESS } from "./slowness.ts";

/** How a process ended: `code`, or the `signal` that killed it. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface SpawnOptions {
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Text for the standard input; without it the input is empty. */
  readonly stdin?: string;
}

/** Memory for a talkative process: older lines are forgotten. */
const KEPT_LINES = 20_000;

/** A program that runs in a namespace until it ends, is stopped, or the lab is removed. */
export class Process {
  readonly pid: number | undefined;
  /** Settles when the program has ended and all of its output was read. Rejects if it never began. */
  readonly exited: Promise<Exit>;
  readonly #argv: readonly string[];
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #listeners = new Set<(line: string) => void>();
  #errors = "";

  /** Starts `argv`; use `Namespace.spawn`. */
  constructor(argv: readonly string[], options: SpawnOptions = {}) {
    const [command = "", ...args] = argv;
    this.#argv = argv;
    this.#child = spawn(command, args, {
      env: { ...process.env, ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.pid = this.#child.pid;
    this.exited = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => resolve({ code, signal }));
    });
    // The error is reported only through `exited`.
    this.exited.catch(() => undefined);
    // A program that does not read its input, and ends, closes the pipe: no fault of ours (EPIPE).
    this.#child.stdin?.on("error", () => undefined);
    this.#child.stdin?.end(options.stdin ?? "");
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#errors = (this.#errors + text).slice(-65_536);
    });
    if (this.#child.stdout === null) return;
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#keep(line));
  }

  /** All lines of the standard output so far. */
  get lines(): readonly string[] {
    return this.#lines;
  }

  /** The last 64 KiB of the standard error. */
  get errors(): string {
    return this.#errors;
  }

  /** Calls back for every line of the standard output, those of the past included. */
  onLine(listener: (line: string) => void): void {
    for (const line of this.#lines) listener(line);
    this.#listeners.add(listener);
  }

  /** The first line, past or future, that matches. Throws if the program ends or `timeout` ms pass first. */
  async line(pattern: RegExp, timeout = 60_000 * SLOWNESS): Promise<string> {
    const found = Promise.withResolvers<string>();
    const listener = (line: string) => {
      if (pattern.test(line)) found.resolve(line);
    };
    const fail = (why: string) =>
      found.reject(new Error(`${this.#argv.join(" ")}: ${why} before ${pattern}\n${this.#errors}`));
    const timer = setTimeout(() => fail(`${timeout} ms passed`), timeout);
    this.onLine(listener);
    this.exited.then(
      () => fail("ended"),
      (error: unknown) => fail(String(error)),
    );
    try {
      return await found.promise;
    } finally {
      clearTimeout(timer);
      this.#listeners.delete(listener);
    }
  }

  /** Sends a signal, if the program still runs. After SIGSTOP it does not run any more when this returns. */
  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
    if (name === "SIGSTOP" && this.pid !== undefined) untilStill(this.pid);
  }

  /** Sends SIGTERM, kills the program after `patience` ms (default: as a kubelet does), and returns how it ended. */
  async stop(patience = 30_000 * SLOWNESS): Promise<Exit> {
    this.signal("SIGTERM");
    const timer = setTimeout(() => this.signal("SIGKILL"), patience);
    try {
      return await this.exited;
    } finally {
      clearTimeout(timer);
    }
  }

  #keep(line: string): void {
    if (this.#lines.push(line) > KEPT_LINES) this.#lines.splice(0, KEPT_LINES / 2);
    for (const listener of this.#listeners) listener(line);
  }
}

/** Milliseconds that a machine under load may take to stop a program. */
const PATIENCE_MS = 5_000;

/**
 * Waits until no thread of a stopped program runs any more. SIGSTOP is sent in no time, but each thread stops when it
 * next looks: an API server has answered one more request meanwhile. Nothing else of ours happens while it waits.
 */
export function untilStill(pid: number): void {
  const end = performance.now() + PATIENCE_MS;
  while (!isStill(pid)) {
    if (performance.now() > end) throw new Error(`process ${pid} was stopped, and goes on`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  }
}

/** Also true of a process that has ended. */
function isStill(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every((task) => {
      // proc_pid_stat(5): the state is behind the name, which may hold anything, parentheses too.
      const stat = readFileSync(`/proc/${pid}/task/${task}/stat`, "utf8");
      return "TtXZ".includes(stat.slice(stat.lastIndexOf(")") + 2)[0] ?? "");
    });
  } catch {
    // A thread, or the process, has ended meanwhile: the next check shows that.
    return textAt(`/proc/${pid}/stat`) === "";
  }
}

/** A file about a process or control group; empty if that has just ended. */
export function textAt(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
