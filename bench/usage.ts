import { readdirSync, readFileSync, statSync } from "node:fs";
import type { Namespace } from "../test/lab/namespace.ts";

/** Ticks of /proc in a second, whatever the kernel's own (USER_HZ, proc(5)). */
const TICKS = 100;

/** What one program takes, or several. */
export interface Usage {
  /** Resident memory, in megabytes of a million bytes. */
  readonly megabytes: number;
  /** Processor time so far, in seconds; of children that have ended and were waited for, too. */
  readonly cpuSeconds: number;
  /** The part of it that the kernel took, in seconds. */
  readonly systemSeconds: number;
}

/** One program. */
interface Program extends Usage {
  readonly pid: number;
  /** Ticks since the machine was started. */
  readonly started: number;
}

/** The programs of a node: the oldest, which programs it, and all that it has started together. */
export interface NodeUsage {
  readonly main: Usage & Pick<Program, "pid">;
  readonly children: Usage;
}

/** Looks at what runs in a node's network namespace now. Throws if nothing does. */
export function usageOf({ id }: Namespace): NodeUsage {
  const namespace = statSync(`/run/netns/${id}`).ino;
  const usages = readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      if (statSync(`/proc/${pid}/ns/net`).ino !== namespace) return [];
      const read = (file: string) => readFileSync(`/proc/${pid}/${file}`, "latin1");
      return [usageIn(read("stat"), read("status"))];
    } catch {
      return []; // It has ended meanwhile.
    }
  });
  const [main, ...children] = usages.toSorted((a, b) => a.started - b.started);
  if (main === undefined) throw new Error(`nothing runs in ${id}`);
  return { main, children: sumOf(children) };
}

/** Reads the texts of /proc/PID/stat and /proc/PID/status. PURE. */
export function usageIn(stat: string, status: string): Program {
  // After the name, which may hold anything: the first field is the state, the third of stat.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const field = (n: number) => Number(fields[n - 3]);
  const ticks = field(14) + field(15) + field(16) + field(17);
  const kibibytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
  return {
    pid: Number.parseInt(stat, 10),
    megabytes: (kibibytes * 1024) / 1e6,
    cpuSeconds: ticks / TICKS,
    systemSeconds: (field(15) + field(17)) / TICKS,
    started: field(22),
  };
}

/** Processor time of a node's programs since a former look, in seconds. */
export interface Spent {
  readonly user: number;
  readonly system: number;
}

/** Starts to measure the processor time of a node's programs. Both throw if nothing runs there. */
export function spending(node: Namespace): () => Spent {
  const now = () => {
    const { main, children } = usageOf(node);
    return sumOf([main, children]);
  };
  const before = now();
  return () => {
    const after = now();
    const system = after.systemSeconds - before.systemSeconds;
    return { user: after.cpuSeconds - before.cpuSeconds - system, system };
  };
}

/**
 * Milliseconds that the main thread of a process was ready to run so far, and did not: other threads had the processors
 * (the second field of schedstat). NaN where the kernel does not count it.
 */
export function waitedForProcessor(pid: number): number {
  try {
    const schedstat = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1");
    return Number(schedstat.split(" ")[1]) / 1e6;
  } catch {
    return Number.NaN;
  }
}

function sumOf(usages: readonly Usage[]): Usage {
  const sum = (of: (usage: Usage) => number) => usages.reduce((total, one) => total + of(one), 0);
  return {
    megabytes: sum((one) => one.megabytes),
    cpuSeconds: sum((one) => one.cpuSeconds),
    systemSeconds: sum((one) => one.systemSeconds),
  };
}
