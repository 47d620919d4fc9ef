import { openSync, readSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { Family } from "../../api/address.ts";

/**
 * The text of a small file, such as those below /proc; undefined if it cannot be read. The cause does not matter: a kernel without the feature has no such file, and callers
 * treat it as unknown in any case.
 */
export function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}

/**
 * Clients that xt_recent remembers per list, so per endpoint of an import with ClientIP affinity: the module parameter
 * ip_list_tot, 100 by default. Undefined while the module is not loaded; the first rule that needs it loads it.
 */
export async function affinityLimit(): Promise<number | undefined> {
  const text = await textOf("/sys/module/xt_recent/parameters/ip_list_tot");
  const limit = Number.parseInt(text ?? "", 10);
  return Number.isInteger(limit) ? limit : undefined;
}

/**
 * Names of the tables of iptables' legacy flavour in this network namespace. Unlike listing a table, this creates none.
 * Without the legacy module, the file does not exist and there are no tables.
 */
export async function legacyTables(family: Family): Promise<string[]> {
  const text = await textOf(`/proc/net/${family === "IPv4" ? "ip" : "ip6"}_tables_names`);
  return (text ?? "").split("\n").filter((name) => name !== "");
}

/** Milliseconds of a tick in /proc/PID/stat, which the kernel fixes for all programs (USER_HZ). */
const TICK_MS = 10;
/** More than the line ever has. */
const MOST_BYTES = 4_096;

/**
 * Returns a function for the milliseconds of processor time that this process and the programs that it ran have used: of a program once it has ended. Unlike a
 * duration, it does not grow on a node where others use the processors. The file stays open: a process without free file descriptors can read it, too.
 */
export function processorClock(): () => number {
  const file = openSync("/proc/self/stat", "r");
  const bytes = Buffer.alloc(MOST_BYTES);
  return () => {
    const { user, system } = process.cpuUsage();
    const text = bytes.toString("latin1", 0, readSync(file, bytes, 0, MOST_BYTES, 0));
    // The name in parentheses may have spaces. proc_pid_stat(5): cutime and cstime are fields 16 and 17.
    const [, fields = ""] = /^.*\) (.*)$/s.exec(text) ?? [];
    const [childUser = "0", childSystem = "0"] = fields.split(" ").slice(13, 15);
    return (user + system) / 1_000 + (Number(childUser) + Number(childSystem)) * TICK_MS;
  };
}
