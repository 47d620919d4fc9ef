import type { ChildProcess } from "node:child_process";
import { CodedError } from "../../common/errors.ts";

/** What the kernel says when it, or this process, has no room for one more: all of it passes. */
const STARVED: readonly unknown[] = ["EMFILE", "ENFILE", "EAGAIN", "ENOMEM"];

/** True if `fault` says that file descriptors, processes or memory have run out. */
function isStarved(fault: unknown): boolean {
  return fault instanceof Error && "code" in fault && STARVED.includes(fault.code);
}

/** Why a program was not started: CSP_EXEC_MISSING, CSP_EXEC_STARVED or CSP_EXEC_FAILED. */
export function startFault(program: string, cause: NodeJS.ErrnoException): CodedError {
  const missing = cause.code === "ENOENT";
  const code = missing ? "CSP_EXEC_MISSING" : "CSP_EXEC_FAILED";
  const message = `${program}: ${cause.message}`;
  return new CodedError(isStarved(cause) ? "CSP_EXEC_STARVED" : code, message, { cause });
}

/**
 * Gives what `spawn` gives, with the streams that its type promises. Throws as `startFault` says: Node throws if
 * memory is short (ENOMEM), and without a descriptor to spare it gives a child that has no streams at all. Other
 * faults come as the child's `error`.
 */
export function start<Child extends ChildProcess>(program: string, spawn: () => Child): Child {
  let child: Child;
  try {
    child = spawn();
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    throw startFault(program, cause);
  }
  if (child.stdio !== undefined) return child;
  // It comes later, and says no more than this.
  child.on("error", () => undefined);
  throw new CodedError("CSP_EXEC_STARVED", `${program}: spawn: too many open files`);
}
