import { execFileSync } from "node:child_process";
import { runMachine } from "./machine.ts";
import { Mirror, type Stage } from "./mirror.ts";
import type { Job } from "./run-disk.ts";
import { guestSystem } from "./system.ts";
import type { Limits } from "./watchdog.ts";

/**
 * Emulation is ten times slower, on a busy machine more: several times the longest silence of a test, and the longest run.
 */
export const LIMITS: Limits = { silenceMs: 300_000, lifeMs: 30 * 60_000 };

/** Enough lines of the console for a panic and its cause. */
const SHOWN_LINES = 60;

/** The result of a successful run. */
export interface Done {
  /** Why tests were skipped. */
  readonly skipped: readonly string[];
}

/** Runs the job's files in a guest. Each of their tests is a test inside `stage`, and ends when and how it does there. */
export async function runInGuest(stage: Stage, job: Job, limits = LIMITS): Promise<Done> {
  const mirror = new Mirror(stage);
  const system = await guestSystem();
  const { fault, console } = await runMachine(system, job, limits, (said) => mirror.take(said));
  try {
    return await mirror.close(fault);
  } catch (error) {
    const lines = console.trimEnd().split("\n").slice(-SHOWN_LINES);
    throw new Error(`${String(error)}\nThe console's last lines:\n${lines.join("\n")}`);
  }
}

/** Paths of commands of Kubernetes; builds missing ones. */
export function builtCommands(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const build = new URL("../kubernetes/build", import.meta.url).pathname;
  const stdio: ["ignore", "pipe", "inherit"] = ["ignore", "pipe", "inherit"];
  return execFileSync(build, names, { encoding: "utf8", stdio }).trim().split("\n");
}
