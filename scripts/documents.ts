import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BLOCKS } from "./documents/blocks.ts";
import { withBlock } from "./documents/markers.ts";

// Writes what documents say of the code anew: node scripts/documents.ts --write. Without the flag, it only
// says which of them are behind.

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
process.exitCode = write || behind === 0 ? 0 : 1;
