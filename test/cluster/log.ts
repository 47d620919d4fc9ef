import { existsSync, readFileSync } from "node:fs";

/** Characters of a log that are shown when something fails. */
const LAST_WORDS = 4_000;

/** The end of a log; empty if it does not exist. */
export function endOf(log: string): string {
  return existsSync(log) ? readFileSync(log, "utf8").slice(-LAST_WORDS) : "";
}
