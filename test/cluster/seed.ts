import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Lab } from "../lab/lab.ts";
import type { Process } from "../lab/process.ts";
import { CACHE, STORE } from "../lab/removal.ts";
import { forgetUnused } from "./forget.ts";
import { endOnHost, Host } from "./host.ts";
import type { BuiltImage } from "./images.ts";
import { containerdConfig, nodeFiles } from "./node-files.ts";

const run = promisify(execFile);

const SEEDS = `${CACHE}/containerd`;

/**
 * The root of a containerd that has these images unpacked, to be copied for each node. Made once: to import an image costs
 * seconds of CPU, for every node again.
 */
export async function seedOf(images: readonly BuiltImage[]): Promise<string> {
  const { stdout: version } = await run("containerd", ["--version"]);
  const parts = [version, ...images.map(({ tag, key }) => `${tag} ${key}`)];
  const key = createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 12);
  const seed = `${SEEDS}/${key}`;
  if (!existsSync(seed)) await makeSeed(seed, images);
  const now = new Date();
  utimesSync(seed, now, now);
  forgetUnused(SEEDS, () => "seed");
  return seed;
}

/** Gives a node a root of its own: databases are copied, everything else is linked, since nothing changes it in place. */
export async function copySeed(seed: string, root: string): Promise<void> {
  mkdirSync(dirname(root), { recursive: true });
  const databases = `find . -name '*.db' -exec cp --remove-destination {} '${root}/{}' ';'`;
  await run("sh", ["-c", `cp -al . '${root}' && ${databases}`], { cwd: seed });
}

async function makeSeed(seed: string, images: readonly BuiltImage[]): Promise<void> {
  console.error(`lab: unpacking ${images.map(({ tag }) => tag).join(", ")}`);
  await using lab = await Lab.create({ clusters: [{ id: "seed", nodes: [{ name: "host" }] }] });
  const directory = `${STORE}/${lab.id}/host`;
  const namespace = lab.node("seed", "host");
  const host = new Host({ namespace, group: `${lab.id}/host`, directory, hostname: "seed" });
  await host.boot();
  const files = nodeFiles(directory);
  mkdirSync(files.cni);
  writeFileSync(files.containerd, containerdConfig(directory));
  const containerd = await startContainerd(host, files.containerd);
  for (const { archive } of images) await loadImage(host, archive);
  await endOnHost(containerd);
  await host.cutPower();
  mkdirSync(dirname(seed), { recursive: true });
  try {
    renameSync(files.containerdRoot, seed);
  } catch (error) {
    // Somebody else has made the same meanwhile, or this did not work.
    if (!existsSync(seed)) throw error;
  }
  rmSync(directory, { recursive: true, force: true });
}

/** Milliseconds until containerd answers, on a machine that does other things, too. */
const PATIENCE_MS = 60_000;

/** Starts a containerd, and returns when it works. Throws the end of its output if that takes too long. */
export async function startContainerd(host: Host, config: string): Promise<Process> {
  const containerd = host.serve("containerd", ["containerd", "--config", config]);
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await host.exec(["ctr", "--timeout", "5s", "version"]);
      return containerd;
    } catch (error) {
      if (performance.now() > end) throw new Error(host.lastWords("containerd"), { cause: error });
      await sleep(50);
    }
  }
}

/** Has a host's containerd take an image out of an archive (OCI or Docker). */
export async function loadImage(host: Host, archive: string): Promise<void> {
  const argv = ["ctr", "-n", "k8s.io", "images", "import", archive];
  await host.exec(argv, { timeout: 300_000 });
}
