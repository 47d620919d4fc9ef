import { execFileSync } from "node:child_process";
import { runMachine } from "./machine.ts";
import { type Report, type Result, Results } from "./results.ts";
import type { Job } from "./run-disk.ts";
import { guestSystem } from "./system.ts";

/** Emulation is ten times slower, on a busy machine more: several times the longest silence of a test. */
const SILENCE_MS = 300_000;

/** Enough lines of the console for a panic and its cause. */
const SHOWN_LINES = 60;

/**
 * Runs the job's files in a guest, and returns the results of all: a file without complete results has failed. `onReport` gets each
 * report of the guest as it arrives.
 */
export async function runInGuest(
  job: Job,
  onReport: (report: Report) => void,
  silenceMs = SILENCE_MS,
): Promise<readonly Result[]> {
  const results = new Results([...job.files, ...(job.alone ?? [])]);
  const { fault, console } = await runMachine(await guestSystem(), job, silenceMs, (report) => {
    results.take(report);
    onReport(report);
  });
  const lines = console.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n");
  // QEMU ends without a fault after a panic, too: only the console shows it.
  results.close(`${fault ?? "the guest ended"}\nThe console's last lines:\n${lines}`);
  return results.all;
}

/** Paths of commands of Kubernetes; builds missing ones. */
export function builtCommands(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const build = new URL("../kubernetes/build", import.meta.url).pathname;
  const stdio: ["ignore", "pipe", "inherit"] = ["ignore", "pipe", "inherit"];
  return execFileSync(build, names, { encoding: "utf8", stdio }).trim().split("\n");
}
