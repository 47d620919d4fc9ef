import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";

/**
 * One run of a lab. `id` names its owner, the process that made it, and is part of the name of every object: leftovers of a
 * killed run show their owner without a separate record. `startTime` (clock ticks since boot) distinguishes the owner from a
 * later process with its pid.
 */
export interface Run {
  readonly id: string;
  readonly pid: number;
  readonly startTime: number;
}

/** Begins a run that belongs to this process. */
export function newRun(): Run {
  const pid = process.pid;
  const startTime = processOf(pid)?.startTime;
  if (startTime === undefined) throw new Error(`/proc/${pid}/stat: not readable`);
  const salt = randomInt(36 ** 4)
    .toString(36)
    .padStart(4, "0");
  return { id: `csp-${pid}-${startTime}-${salt}`, pid, startTime };
}

/** The run that made something of this name (`<run>` or `<run>_<place>`); `undefined` if no lab did. */
export function runOf(name: string): Run | undefined {
  const match = /^(csp-(\d+)-(\d+)-[0-9a-z]{4})(_|$)/.exec(name);
  if (match === null) return undefined;
  const [, id = "", pid, startTime] = match;
  return { id, pid: Number(pid), startTime: Number(startTime) };
}

/** True while the process that owns the run lives. A zombie has ended: it only waits for its parent. */
export function isAlive(run: Run): boolean {
  const owner = processOf(run.pid);
  return owner !== undefined && owner.startTime === run.startTime && !/[ZX]/.test(owner.state);
}

function processOf(pid: number): { state: string; startTime: number } | undefined {
  const stat = readStat(pid);
  // The second field is the program's name in parentheses, and may hold blanks and parentheses itself.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, startTime] = [fields?.[0], fields?.[19]];
  if (state === undefined || startTime === undefined) return undefined;
  return { state, startTime: Number(startTime) };
}

function readStat(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    // No such process: the answer, not a fault.
    return undefined;
  }
}
