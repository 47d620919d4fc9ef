import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as esbuild from "esbuild";

/** Where Node looks for the program in its own binary (Node's documentation of single executable applications). */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
const RESOURCE = "NODE_SEA_BLOB";
const POSTJECT = createRequire(import.meta.url).resolve("postject/dist/cli.js");

/**
 * Makes a self-contained executable of a bundle: a copy of this Node's binary with the program in it. `bundle`: a module without top-level
 * `await`, because Node 24 loads a CommonJS module only.
 */
export async function makeExecutable(bundle: string, out: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "executable-"));
  try {
    const blob = join(folder, "program.blob");
    // Paths that are relative to this folder: the binary contains them, and would differ from build to build.
    copyFileSync(bundle, join(folder, "program.mjs"));
    await esbuild.build({
      absWorkingDir: folder,
      entryPoints: ["program.mjs"],
      outfile: "main.cjs",
      format: "cjs",
      platform: "node",
      target: "node24",
      // The bundle makes its own `require` of the address of its file.
      define: { "import.meta.url": '"file:///"', "import.meta.dirname": '"/"' },
      logLevel: "error",
    });
    const options = { main: "main.cjs", output: blob, disableExperimentalSEAWarning: true };
    writeFileSync(join(folder, "config.json"), JSON.stringify(options));
    const prepare = ["--experimental-sea-config", "config.json"];
    execFileSync(process.execPath, prepare, { cwd: folder, stdio: "pipe" });
    copyFileSync(process.execPath, out);
    chmodSync(out, 0o755);
    // As a program, because its warnings about sections of the binary are of no use.
    const argv = [POSTJECT, out, RESOURCE, blob, "--sentinel-fuse", FUSE];
    execFileSync(process.execPath, argv, { stdio: "pipe" });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
