import { readdirSync, readFileSync } from "node:fs";

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
    return !isThere(pid);
  }
}

function isThere(pid: number): boolean {
  try {
    readFileSync(`/proc/${pid}/stat`);
    return true;
  } catch {
    return false;
  }
}
