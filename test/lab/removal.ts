import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { readdirSync, readlinkSync, rmSync, statSync } from "node:fs";
import { constants, homedir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { pidsInGroup, removeGroup, topGroups } from "./cgroups.ts";
import { textAt } from "./process.ts";

/** Where `ip netns` keeps its names. */
const NAMESPACES = "/run/netns";

/** Where each run has a directory of its own: lock files, and what its user puts there. */
export const SCRATCH = "/run/clusterset-lab";

/** What is built once and kept, outside the tree: the same folder as test/kubernetes/build has. */
export const CACHE = `${process.env.XDG_CACHE_HOME ?? `${homedir()}/.cache`}/clusterset-proxy`;

/** Where a run has a directory for what is large, or has to be on one file system with what is kept. */
export const STORE = `${CACHE}/runs`;

/** A process that does not die within this time, on a machine that is busy, hangs in the kernel: more waiting would not help. */
const PATIENCE_MS = 30_000;

/** The network namespaces of a run. */
export function namespacesOf(run: Run): string[] {
  return list(NAMESPACES).filter((name) => runOf(name)?.id === run.id);
}

/** Every run that has left a trace on this machine and whose owner has died. */
export function deadRuns(): Run[] {
  const runs = new Map<string, Run>();
  for (const name of [...list(NAMESPACES), ...list(SCRATCH), ...list(STORE), ...topGroups()]) {
    const run = runOf(name);
    if (run !== undefined) runs.set(run.id, run);
  }
  return [...runs.values()].filter((run) => !isAlive(run));
}

/**
 * Removes all that a run has made: first every process inside its namespaces (a namespace lives on, nameless,
 * while a process is in it), then the namespaces with their links, then its control groups with all in them, then its
 * directories. May be repeated, and may be done by two at once.
 */
export async function removeRun(run: Run): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (let names = namespacesOf(run); names.length > 0; names = namespacesOf(run)) {
    if (performance.now() > end) throw new Error(`cannot be removed: ${names.join(" ")}`);
    await killAll(run, names);
    await ipBatch(names.map((name) => `netns del ${name}\n`).join(""));
    // What is left now, someone else has unmounted and is about to unlink.
    if (namespacesOf(run).length > 0) await sleep(10);
  }
  await removeGroups(run);
  // Mounts of a node end when its last process has, which may be a moment later.
  const options = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 } as const;
  for (const folder of [SCRATCH, STORE]) rmSync(`${folder}/${run.id}`, options);
}

/** Containers are in namespaces of their own, but in control groups of the run. */
async function removeGroups(run: Run): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!removeGroup(run.id)) {
    const pids = pidsInGroup(run.id);
    if (performance.now() > end) throw new Error(`cannot be removed: ${run.id}: ${pids.join(" ")}`);
    for (const pid of pids) kill(pid);
    await sleep(5);
  }
}

async function killAll(run: Run, names: readonly string[]): Promise<void> {
  const marks = new Set(names.map(namespaceMark).filter((mark) => mark !== undefined));
  const end = performance.now() + PATIENCE_MS;
  // Again until none is left: a process may have been starting another one as it was killed.
  for (let pids = pidsOf(run, marks); pids.length > 0; pids = pidsOf(run, marks)) {
    if (performance.now() > end) throw new Error(`processes cannot be killed: ${pids.join(" ")}`);
    for (const pid of pids) kill(pid);
    await sleep(5);
  }
}

/**
 * The processes that are in a namespace of the run, and those that are about to be: one that the lab has
 * just started is known by its environment before it has entered.
 */
function pidsOf(run: Run, marks: ReadonlySet<string>): number[] {
  const directory = `${SCRATCH}/${run.id}/`;
  const isOurs = (pid: string) =>
    marks.has(linkAt(`/proc/${pid}/ns/net`)) || textAt(`/proc/${pid}/environ`).includes(directory);
  const pids = list("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter(isOurs).map(Number);
}

/** Programs that run, by id and arguments. One that has ended has no arguments, also before its parent has read its exit code. */
export function programs(): { readonly pid: number; readonly argv: readonly string[] }[] {
  return list("/proc").flatMap((name) => {
    const text = /^\d+$/.test(name) ? textAt(`/proc/${name}/cmdline`) : "";
    return text === "" ? [] : [{ pid: Number(name), argv: text.split("\0") }];
  });
}

/** What /proc/PID/ns/net reads for processes inside. */
function namespaceMark(name: string): string | undefined {
  const inode = statSync(`${NAMESPACES}/${name}`, { throwIfNoEntry: false })?.ino;
  return inode === undefined ? undefined : `net:[${inode}]`;
}

/** Empty if the process has just ended, or is a zombie: it is in no namespace any more. */
function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself meanwhile.
  }
}

function ipBatch(batch: string): Promise<void> {
  const done = Promise.withResolvers<void>();
  // -force: continue if another process has removed a namespace meanwhile; leftovers are checked afterwards.
  const child = execFile("ip", ["-force", "-batch", "-"], () => done.resolve());
  // The same: an ip that could not run at all shows in what is left.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(batch);
  return done.promise;
}

function list(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // Nobody has made a namespace, or a lab, since the machine was started.
    return [];
  }
}

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
  const stat = textAt(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses, and may hold blanks and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, startTime] = [fields[0], fields[19]];
  if (state === undefined || startTime === undefined) return undefined;
  return { state, startTime: Number(startTime) };
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Read by the watchdog: the run has been removed in good order. */
const DISMISSED = "dismissed";

/**
 * Sees to it that a run ends with its owner. A signal removes it at once. Everything else (an exception, a
 * `kill -9`) is left to a watchdog: a shell that reads from a pipe which only the owner holds, and removes
 * the run when the pipe closes. A shell, because it waits in 1 MB where Node needs 45.
 */
export class Guard {
  readonly #run: Run;
  #watchdog: ChildProcess | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  start(): void {
    const script = `read -r line; [ "$line" = ${DISMISSED} ] || exec "$@"`;
    const sweep = [process.execPath, `${import.meta.dirname}/sweep.ts`, this.#run.id];
    // Detached: a Ctrl-C reaches the whole process group of a terminal, and must not reach the watchdog.
    const watchdog = spawn("sh", ["-c", script, "watchdog", ...sweep], {
      detached: true,
      stdio: ["pipe", "ignore", "inherit"],
    });
    watchdog.stdin?.on("error", () => undefined); // It has ended already, and is not needed any more.
    watchdog.unref();
    this.#watchdog = watchdog;
    for (const name of SIGNALS) process.on(name, this.#onSignal);
  }

  /** The run has been removed. */
  stop(): void {
    for (const name of SIGNALS) process.off(name, this.#onSignal);
    this.#watchdog?.stdin?.end(`${DISMISSED}\n`);
    this.#watchdog = undefined;
  }

  readonly #onSignal = (name: NodeJS.Signals): void => {
    removeRun(this.#run)
      .catch((error: unknown) => console.error(error))
      // As a shell reports a program that a signal ended.
      .finally(() => process.exit(128 + constants.signals[name]));
  };
}
