import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** The top of the tree. */
export const ROOT = join(import.meta.dirname, "../..");

/** Runs a program at the top of the tree; returns its output. Throws, with what it printed, if it fails. */
export function output(program: string, argv: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, [...argv], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${program} ${argv.join(" ")}: ${error?.message ?? stderr}`);
  return stdout;
}
