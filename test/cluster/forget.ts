import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

const HOUR = 60 * 60 * 1_000;

/** Of each kind so many are kept for a day, and others for an hour: longer than any run that still uses one. */
const KEPT = 3;

/**
 * Removes what is in a folder and was not asked for lately, by the times of its entries: each time sources change there are
 * others, of 100 MB and more. `kindOf`: entries of one kind take the place of each other.
 */
export function forgetUnused(folder: string, kindOf: (name: string) => string): void {
  const now = Date.now();
  const seen = new Map<string, number>();
  const entries = readdirSync(folder)
    .flatMap((name) => {
      // Somebody else may remove it at the same time.
      const stat = statSync(join(folder, name), { throwIfNoEntry: false });
      return stat === undefined ? [] : [{ name, age: now - stat.mtimeMs }];
    })
    .toSorted((a, b) => a.age - b.age);
  for (const { name, age } of entries) {
    const kind = kindOf(name);
    const newer = seen.get(kind) ?? 0;
    seen.set(kind, newer + 1);
    if (age > (newer < KEPT ? 24 * HOUR : HOUR)) {
      rmSync(join(folder, name), { recursive: true, force: true });
    }
  }
}
