import { readFile } from "node:fs/promises";

/** The text of a small file, such as those below /proc; undefined if it cannot be read. */
export function textOf(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}
