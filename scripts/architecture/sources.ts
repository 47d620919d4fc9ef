import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Sources } from "./violations.ts";

/** Folders of the tree that hold nothing that was written here. */
const FOREIGN = new Set(["node_modules", "dist", "coverage"]);

/** Every TypeScript file below `root`, read. */
export function readSources(root: string): Sources {
  const sources = new Map<string, string>();
  for (const file of filesBelow(root, "", ".ts")) {
    sources.set(file, readFileSync(join(root, file), "utf8"));
  }
  return sources;
}

/** Paths from `root` of the files in `folder` and below that end like `ending`, in order. */
export function filesBelow(root: string, folder: string, ending: string): string[] {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isFile()) return entry.name.endsWith(ending) ? [path] : [];
    const ours = entry.isDirectory() && !entry.name.startsWith(".") && !FOREIGN.has(entry.name);
    return ours ? filesBelow(root, path, ending) : [];
  });
}
