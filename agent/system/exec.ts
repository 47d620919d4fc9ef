import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { systemClock } from "../../common/clock.ts";
import { deadline } from "../../common/deadline.ts";
import { CodedError } from "../../common/errors.ts";
import { start, startFault } from "./start.ts";

/** Characters of stderr that an error message keeps. */
const LAST_WORDS = 2000;
/** Milliseconds after which a program is killed. */
const TIMEOUT = 60_000;

/** What a program is given, and how long it may run. */
export interface ExecLimits {
  /** Its standard input; nothing if absent. */
  readonly input?: string;
  /** Kills it when it is aborted. */
  readonly stop?: AbortSignal | undefined;
  /** Milliseconds. */
  readonly timeout?: number;
}

/**
 * Runs a program and gives its standard output to `onLine`, line by line, so that a table of any size costs
 * no memory. Rejects with CSP_EXEC_MISSING, CSP_EXEC_STARVED, CSP_EXEC_FAILED (also if it ends by a signal) or
 * CSP_EXEC_TIMEOUT. When `stop` is aborted or its time is up it rejects at once, also if the program cannot be killed.
 */
export async function execLines(
  [program, ...args]: readonly [string, ...string[]],
  onLine: (line: string) => void,
  { input, stop, timeout = TIMEOUT }: ExecLimits = {},
): Promise<void> {
  const child = start(program, () => spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] }));
  // Who does not read it has ended, and how is told anyway.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  const call = [program, ...args].join(" ");
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let stderr = "";
  const lines = createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY });
  const read = new Promise<void>((done) => lines.once("close", done));
  lines.on("line", onLine);
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr = (stderr + chunk).slice(-LAST_WORDS);
  });
  const giveUp = (error: CodedError) => {
    reject(error);
    child.kill("SIGKILL");
    // What it has started may live on, and hold the other ends: nothing of that keeps this process alive.
    child.stdin.destroy();
    child.stdout.destroy();
    child.stderr.destroy();
    child.unref();
  };
  const stopped = () => giveUp(new CodedError("CSP_EXEC_FAILED", `${program}: not waited for`));
  if (stop?.aborted) stopped();
  stop?.addEventListener("abort", stopped, { once: true });
  const cancel = deadline(systemClock, timeout, () =>
    giveUp(new CodedError("CSP_EXEC_TIMEOUT", `${call}: killed, it took too long`)),
  );
  child.on("error", (cause: NodeJS.ErrnoException) => reject(startFault(program, cause)));
  child.on("close", (status, signal) => {
    const end = signal ?? `exit status ${status}`;
    if (status === 0) read.then(resolve, reject);
    else reject(new CodedError("CSP_EXEC_FAILED", `${call}: ${end}: ${stderr.trim()}`));
  });
  try {
    await promise;
  } finally {
    cancel();
    stop?.removeEventListener("abort", stopped);
  }
}
