import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chartFiles } from "./charts/chart-files.ts";

// Writes those files of deploy/charts that are made of other files anew: node scripts/charts.ts --write. Without the flag, it
// only lists which of them are behind.

const root = join(import.meta.dirname, "..");
const write = process.argv.includes("--write");
let behind = 0;
for (const [file, text] of chartFiles()) {
  const path = join(root, file);
  if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
  behind++;
  if (write) writeFileSync(path, text);
  console.log(`${file} ${write ? "written" : "is behind its source"}`);
}
process.exitCode = write || behind === 0 ? 0 : 1;
