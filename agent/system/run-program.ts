import { deadline, systemClock } from "../../common/clock.ts";
import { CodedError } from "../../common/errors.ts";
import type { Argv, ProgramResult } from "./program-result.ts";
import { cpuTime, type Ending, killProgram, startProgram } from "./start-program.ts";
import { ToolTimeout } from "./tool-timeout.ts";

/** Input of a program, and limits of its run. */
export interface RunLimits {
  /** Standard input; absent: empty. */
  readonly input?: string;
  /** Kills it when it is aborted. */
  readonly stop?: AbortSignal | undefined;
  /** Milliseconds after which it is killed; with `execLines`, more after a call of the same command that took longer (`ToolTimeout`). */
  readonly timeout?: number;
}

/** Commands that need more time than at first; the latest last. */
const slow = new Map<string, ToolTimeout>();
const MOST_SLOW = 64;

/** Milliseconds after which a program is killed, and one whose result is kept. */
const TIMEOUT = 60_000;
const RESULT_TIMEOUT = 10_000;
/** Characters of output that are kept: the links of a node with 1,000 pods take half a million. */
const MOST_OUTPUT = 16 * 1024 * 1024;

/**
 * Runs a program and passes its standard output to `onLine` line by line, without keeping it. Rejects with CSP_EXEC_MISSING,
 * CSP_EXEC_STARVED, CSP_EXEC_FAILED (also after a signal) or CSP_EXEC_TIMEOUT. After `stop` or the timeout it rejects at once,
 * even if the program cannot be killed.
 */
export async function execLines(
  argv: Argv,
  onLine: (line: string) => void,
  limits: RunLimits = {},
): Promise<void> {
  const command = argv.join(" ");
  const timeout = slow.get(command) ?? new ToolTimeout(limits.timeout ?? TIMEOUT);
  const call = timeout.begin();
  const expired = (cpu: number) => call.expired(cpu);
  let ending: Ending;
  try {
    ending = await endOf(argv, onLine, { ...limits, timeout: call.ms }, expired);
    call.ended();
  } finally {
    call.failed();
    slow.delete(command);
    if (timeout.grown) slow.set(command, timeout);
    for (const [oldest] of slow) if (slow.size > MOST_SLOW) slow.delete(oldest);
  }
  const { how, status, unstarted, stderr } = ending;
  if (status === 0) return;
  const message = [command, how, stderr].filter((text) => text !== "").join(": ");
  throw new CodedError(unstarted ?? "CSP_EXEC_FAILED", message);
}

/** Runs a program without input until it ends or `stop` is aborted, and keeps its output. Never rejects. */
export async function runProgram(argv: Argv, stop?: AbortSignal): Promise<ProgramResult> {
  let stdout = "";
  const onLine = (line: string) => {
    if (stdout.length < MOST_OUTPUT) stdout += `${line}\n`;
  };
  try {
    const ending = await endOf(argv, onLine, { stop, timeout: RESULT_TIMEOUT });
    const { how, status, unstarted, stderr } = ending;
    const missing = unstarted === "CSP_EXEC_MISSING";
    return { status, stdout, stderr: status === undefined ? how : stderr, missing };
  } catch (error) {
    return { status: undefined, stdout, stderr: String(error), missing: false };
  }
}

/** Rejects after `stop` with CSP_EXEC_FAILED, and after the timeout with CSP_EXEC_TIMEOUT; calls `expired` with the processor time then. */
async function endOf(
  argv: Argv,
  onLine: (line: string) => void,
  { input, stop, timeout = TIMEOUT }: RunLimits,
  expired: (cpuTime: number) => void = () => undefined,
): Promise<Ending> {
  const program = startProgram(argv, onLine);
  program.child?.stdin.end(input);
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const giveUp = (error: CodedError) => {
    reject(error);
    killProgram(program);
    // A process that cannot be killed must not keep this one alive.
    program.child?.unref();
  };
  const onAbort = () => giveUp(new CodedError("CSP_EXEC_FAILED", `${argv[0]}: canceled`));
  if (stop?.aborted) onAbort();
  stop?.addEventListener("abort", onAbort, { once: true });
  const cancel = deadline(systemClock, timeout, () => {
    expired(cpuTime(program));
    giveUp(new CodedError("CSP_EXEC_TIMEOUT", `${argv.join(" ")}: killed after a timeout`));
  });
  try {
    return await Promise.race([stopped, program.ended]);
  } finally {
    cancel();
    stop?.removeEventListener("abort", onAbort);
  }
}
