import { readFileSync } from "node:fs";
import type { CodedError } from "../../common/errors.ts";
import type { Argv } from "./program-result.ts";
import { cpuTime, type Ending, killProgram, type Program, startProgram } from "./start-program.ts";

/** Options of a `PersistentProcess`. */
export interface PersistentProcessOptions {
  readonly argv: Argv;
  /** Our descriptors that it holds open until it ends. */
  readonly keep: readonly number[];
  /** Called with each new process before anything else is written to it. */
  readonly onStart?: () => void;
  readonly onLine: (line: string) => void;
  /** The error of a transaction during which the process ended. Called at each end. */
  readonly errorOf: (ending: Ending) => CodedError;
  /** Called when a process has failed; the next transaction starts another. */
  readonly onRespawn: () => void;
}

/** Milliseconds that an idle process may take to end. */
const LEAVE = 1000;

/**
 * A program that reads transactions from standard input, one at a time, and answers in lines. It is started when it is needed, and
 * again after a failure.
 */
export class PersistentProcess {
  readonly #options: PersistentProcessOptions;
  #running: Program | undefined;
  #answer: PromiseWithResolvers<void> | undefined;
  /** Processor time of the process before the transaction under way. */
  #cpuBefore = 0;

  constructor(options: PersistentProcessOptions) {
    this.#options = options;
  }

  /** Starts the program, unless it runs. */
  start(): void {
    if (this.#running !== undefined) return;
    const { argv, keep, onStart, onLine, errorOf } = this.#options;
    const running = startProgram(argv, onLine, keep);
    this.#running = running;
    onStart?.();
    // Once per process, not per transaction: a promise keeps its callbacks until it settles, which may take months.
    void running.ended.then((ending) => this.#fail(running, errorOf(ending)));
  }

  /**
   * Begins a transaction; the one before has settled. The promise is settled by `answer`, or rejects after `kill` or the end of the
   * process.
   */
  begin(): Promise<void> {
    this.start();
    this.#cpuBefore = this.#running === undefined ? 0 : cpuTime(this.#running);
    this.#answer = Promise.withResolvers();
    const answered = this.#answer.promise;
    // It may reject before the caller awaits it, and would end the agent as an unhandled rejection. The caller gets the error all the same.
    answered.catch(() => undefined);
    return answered;
  }

  write(text: string): void {
    this.#running?.child?.stdin.write(text);
  }

  /** Undefined if more may be written at once; otherwise resolves when the process has read enough. */
  get room(): Promise<void> | undefined {
    const stdin = this.#running?.child?.stdin;
    if (!stdin?.writableNeedDrain) return undefined;
    return new Promise((resolve) => stdin.once("drain", resolve));
  }

  /** Milliseconds of processor time that the process has used for the transaction under way. */
  get cpuTime(): number {
    return this.#running === undefined ? 0 : cpuTime(this.#running) - this.#cpuBefore;
  }

  /** True if the process waits for a file lock of another program. */
  get waitsForLock(): boolean {
    const pid = this.#running?.child?.pid;
    return pid !== undefined && waitsForLock(pid);
  }

  /** Settles the transaction under way. */
  answer(error?: CodedError): void {
    if (error === undefined) this.#answer?.resolve();
    else this.#answer?.reject(error);
  }

  /**
   * Kills the process, if it still runs, and rejects the transaction under way. Resolves after the process has ended, and the
   * transaction rejects only then: in the middle of a commit, the commit is finished first, and reading the kernel back earlier
   * would return what is about to change.
   */
  async kill(error: unknown): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#fail(running, error);
    await running.ended;
  }

  /** Closes the input of the process, so that it ends, and kills it if it does not end in time. */
  async close(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    running.child?.stdin.end();
    const timer = setTimeout(() => killProgram(running), LEAVE);
    await running.ended;
    clearTimeout(timer);
  }

  /** Does nothing if the process was killed or closed before. */
  #fail(running: Program, error: unknown): void {
    if (this.#running !== running) return;
    this.#running = undefined;
    killProgram(running);
    this.#options.onRespawn();
    const answer = this.#answer;
    void running.ended.then(() => answer?.reject(error));
  }
}

/** True if the process waits for a lock of a file (flock). `locks`: /proc/locks, which marks waiting processes with an arrow. */
export function isWaiting(locks: string, pid: number): boolean {
  return locks.split("\n").some((line) => {
    const [, arrow, kind, , , owner] = line.trim().split(/\s+/);
    return arrow === "->" && kind === "FLOCK" && owner === String(pid);
  });
}

/** The same at this moment; false if /proc/locks cannot be read. */
function waitsForLock(pid: number): boolean {
  try {
    return isWaiting(readFileSync("/proc/locks", "utf8"), pid);
  } catch {
    return false;
  }
}
