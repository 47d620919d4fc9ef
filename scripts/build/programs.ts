import { join } from "node:path";
import { buildProgram, copyNative } from "./bundle.ts";
import { makeExecutable } from "./executable.ts";

/** Builds all programs into a folder, each with its SBOM, netlink's native parts, and the plugin as an executable. Returns the paths. */
export async function buildPrograms(folder: string): Promise<string[]> {
  const files = [
    ...(await buildProgram("agent", folder)),
    ...(await buildProgram("controller", folder)),
    ...(await buildProgram("cli", folder)),
    ...copyNative(folder),
  ];
  const executable = join(folder, "kubectl-clusterset-linux-x64");
  await makeExecutable(join(folder, "kubectl-clusterset.mjs"), executable);
  return [...files, executable];
}
