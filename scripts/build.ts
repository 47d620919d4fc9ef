import { rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { buildPrograms } from "./build/programs.ts";

// Bundles the programs into dist/: node dist/clusterset-agent.mjs, clusterset-controller.mjs or kubectl-clusterset.mjs needs neither this tree nor node_modules.
// Beside each is a list of the packages in it, its SBOM. The plugin is also an executable, which needs nothing but Linux on x86-64.

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
for (const file of await buildPrograms(dist)) {
  const size = `${Math.ceil(statSync(file).size / 1024)} KiB`;
  console.log(`${size.padStart(9)}  ${relative(root, file)}`);
}
