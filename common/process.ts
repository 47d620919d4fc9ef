import { writeFileSync } from "node:fs";
import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import { CodedError } from "./errors.ts";
import type { Logger } from "./log.ts";

/** Names this process as `ps`, `top` and `nft monitor` show it; Node calls each `MainThread`. The kernel keeps 15 bytes. */
export function nameProcess(name: string): void {
  try {
    writeFileSync("/proc/self/comm", name);
  } catch {
    // Only the name is lost.
  }
}

/** Writes to standard output; returns the exit code. A closed pipe (`plan | head`) is not an error. */
export function printed(program: string, text: string): Promise<number> {
  process.stdout.on("error", () => undefined);
  const { promise, resolve } = Promise.withResolvers<number>();
  process.stdout.write(text, (fault: NodeJS.ErrnoException | null | undefined) => {
    if (fault == null || fault.code === "EPIPE") return resolve(0);
    process.stderr.write(`${program}: standard output: ${fault.message}\n`);
    resolve(1);
  });
  return promise;
}

/** Aborted on SIGTERM (the kubelet) or SIGINT (Ctrl-C); a second signal ends the process at once. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => stop.abort(signal));
  }
  return stop.signal;
}

/** Exit code after an uncaught exception. */
const EXIT_UNCAUGHT = 1;

/** Logs uncaught exceptions and rejections, then exits, because the state may be inconsistent. */
export function endWhenUncaught(log: Logger): void {
  process.on("uncaughtException", (thrown: unknown, origin) => {
    const known = thrown instanceof Error;
    // A value without a prototype has no text of its own.
    const message = `${origin}: ${known ? thrown.message : inspect(thrown)}`;
    const error = new CodedError("CSP_UNCAUGHT", message, known ? { cause: thrown } : {});
    log.error("Uncaught exception; exiting, kernel state is kept", { error });
    process.exit(EXIT_UNCAUGHT);
  });
}

/**
 * Flags of V8 13 (Node 24), which save 110 MB with ten thousand slices, for a fifth more time to read them. A test checks
 * that Node supports them.
 */
export const HEAP_FLAGS = ["--semi-space-growth-factor=1", "--heap-growing-percent=50"] as const;

/** Sets `HEAP_FLAGS`. Call it first. */
export function keepHeapSmall(): void {
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
}

/** Logs warnings of Node (listener leaks, deprecations), which it would print as text between JSON lines. */
export function logNodeWarnings(log: Logger): void {
  // Node prints them by a listener, too.
  process.removeAllListeners("warning");
  process.on("warning", ({ name, message }) => {
    log.warn("Node.js warning", { warning: name, detail: message });
  });
}
