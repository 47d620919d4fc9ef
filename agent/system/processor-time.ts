import { readFileSync } from "node:fs";

/** Milliseconds of a tick in /proc/PID/stat, which the kernel fixes for all programs (USER_HZ). */
const TICK_MS = 10;

/**
 * Milliseconds of processor time that this process and the programs that it ran have used: of a program once it has ended. Unlike a duration, it does not grow
 * on a node where others use the processors.
 */
export function processorTime(): number {
  const { user, system } = process.cpuUsage();
  // The name in parentheses may have spaces. proc_pid_stat(5): cutime and cstime are fields 16 and 17.
  const [, fields = ""] = /^.*\) (.*)$/s.exec(readFileSync("/proc/self/stat", "utf8")) ?? [];
  const [childUser = "0", childSystem = "0"] = fields.split(" ").slice(13, 15);
  return (user + system) / 1_000 + (Number(childUser) + Number(childSystem)) * TICK_MS;
}
