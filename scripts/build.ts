import { rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { bundle, copyNative } from "./build/bundle.ts";

// Bundles the programs into dist/: node dist/clusterset-agent.mjs needs neither this tree nor node_modules.

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
const agent = join(dist, "clusterset-agent.mjs");

rmSync(dist, { recursive: true, force: true });
await bundle(join(root, "agent/main.ts"), agent);
for (const file of [agent, ...copyNative(dist)]) {
  const size = `${Math.ceil(statSync(file).size / 1024)} KiB`;
  console.log(`${size.padStart(9)}  ${relative(root, file)}`);
}
