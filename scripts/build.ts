import { rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { bundle, copyNative } from "./build/bundle.ts";

// Bundles the programs into dist/: node dist/clusterset-agent.mjs, or -controller.mjs, needs neither this tree nor node_modules.

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
const files: string[] = [];
for (const program of ["agent", "controller"]) {
  const file = join(dist, `clusterset-${program}.mjs`);
  await bundle(join(root, program, "main.ts"), file);
  files.push(file);
}
for (const file of [...files, ...copyNative(dist)]) {
  const size = `${Math.ceil(statSync(file).size / 1024)} KiB`;
  console.log(`${size.padStart(9)}  ${relative(root, file)}`);
}
