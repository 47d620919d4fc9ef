import { execFileSync } from "node:child_process";
import { runMachine } from "./machine.ts";
import { Mirror, type Stage } from "./mirror.ts";
import type { Job } from "./run-disk.ts";
import { guestSystem } from "./system.ts";
import type { Limits } from "./watchdog.ts";

/**
 * Emulation is ten times slower, on a busy machine more: the longest that a test is silent, and that a run lasts, several
 * times over.
 */
export const LIMITS: Limits = { silenceMs: 300_000, lifeMs: 30 * 60_000 };

/** As much of the console as has a panic and what led to it. */
const SHOWN_LINES = 60;

/** What a run was that went well. */
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

/** Where commands of Kubernetes are; builds what is not there. */
export function builtCommands(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const build = new URL("../kubernetes/build", import.meta.url).pathname;
  const stdio: ["ignore", "pipe", "inherit"] = ["ignore", "pipe", "inherit"];
  return execFileSync(build, names, { encoding: "utf8", stdio }).trim().split("\n");
}
