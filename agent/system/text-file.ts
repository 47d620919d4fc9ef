import { readFile } from "node:fs/promises";

/**
 * The text of a small file, such as those below /proc; undefined if it cannot be read. The cause does not matter: a kernel without the feature has no such file, and callers
 * treat it as unknown in any case.
 */
export function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}
