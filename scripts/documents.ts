import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { BLOCKS } from "./documents/blocks.ts";
import { FILES } from "./documents/files.ts";
import { withBlock } from "./documents/markers.ts";

// Writes what documents say of the code anew, and the files that are made from it: node scripts/documents.ts --write. Without
// the flag, it only says which of them are behind.

const root = join(import.meta.dirname, "..");
const write = process.argv.includes("--write");
let behind = 0;
for (const { document, name, text } of BLOCKS) {
  const path = join(root, document);
  const old = readFileSync(path, "utf8");
  const current = withBlock(old, name, text);
  if (current === old) continue;
  behind++;
  if (write) writeFileSync(path, current);
  console.log(`${document}: ${name} ${write ? "written" : "is behind the code"}`);
}
for (const { path, text } of FILES) {
  const file = join(root, path);
  if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
  behind++;
  if (write) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  console.log(`${path} ${write ? "written" : "is behind the code"}`);
}
process.exitCode = write || behind === 0 ? 0 : 1;
