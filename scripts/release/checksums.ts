import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/** Writes SHA256SUMS, for `sha256sum --check` in that folder. Returns its path. */
export function writeChecksums(folder: string, files: readonly string[]): string {
  const lines = files.map((file) => {
    const digest = createHash("sha256").update(readFileSync(file)).digest("hex");
    return `${digest}  ${basename(file)}\n`;
  });
  const path = join(folder, "SHA256SUMS");
  // By name, whatever the order in which they were made.
  writeFileSync(path, lines.toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join(""));
  return path;
}
