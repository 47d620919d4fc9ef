import { readFileSync } from "node:fs";

/**
 * True if a process waits for another to let go of a file (flock). `locks`: the text of /proc/locks, where whoever waits stands
 * behind an arrow below whom it waits for. PURE.
 */
export function isWaiting(locks: string, pid: number): boolean {
  return locks.split("\n").some((line) => {
    const [, arrow, kind, , , owner] = line.trim().split(/\s+/);
    return arrow === "->" && kind === "FLOCK" && owner === String(pid);
  });
}

/** The same as of now; false where it cannot be told. */
export function waitsForLock(pid: number): boolean {
  try {
    return isWaiting(readFileSync("/proc/locks", "utf8"), pid);
  } catch {
    return false;
  }
}
