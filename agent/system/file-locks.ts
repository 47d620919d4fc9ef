import { readFileSync } from "node:fs";

/** True if the process waits for a lock of a file (flock). `locks`: /proc/locks, which marks waiting processes with an arrow. */
export function isWaiting(locks: string, pid: number): boolean {
  return locks.split("\n").some((line) => {
    const [, arrow, kind, , , owner] = line.trim().split(/\s+/);
    return arrow === "->" && kind === "FLOCK" && owner === String(pid);
  });
}

/** The same at this moment; false if /proc/locks cannot be read. */
export function waitsForLock(pid: number): boolean {
  try {
    return isWaiting(readFileSync("/proc/locks", "utf8"), pid);
  } catch {
    return false;
  }
}
