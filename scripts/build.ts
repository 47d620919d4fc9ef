import { rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { buildProgram, copyNative } from "./build/bundle.ts";
import { makeExecutable } from "./build/executable.ts";

// Bundles the programs into dist/: node dist/clusterset-agent.mjs, clusterset-controller.mjs or kubectl-clusterset.mjs needs neither this tree nor node_modules.
// Beside each is a list of the packages in it, its SBOM. The plugin is also an executable, which needs nothing but Linux on x86-64.

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
const files = [
  ...(await buildProgram("agent", dist)),
  ...(await buildProgram("controller", dist)),
  ...(await buildProgram("cli", dist)),
  ...copyNative(dist),
];
const executable = join(dist, "kubectl-clusterset-linux-x64");
await makeExecutable(join(dist, "kubectl-clusterset.mjs"), executable);
for (const file of [...files, executable]) {
  const size = `${Math.ceil(statSync(file).size / 1024)} KiB`;
  console.log(`${size.padStart(9)}  ${relative(root, file)}`);
}
