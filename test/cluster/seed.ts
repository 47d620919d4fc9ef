import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { Lab } from "../lab/lab.ts";
import { CACHE, STORE } from "../lab/removal.ts";
import type { BuiltImage } from "./buildah.ts";
import { loadImage, startContainerd } from "./containerd.ts";
import { endOnHost, Host } from "./host.ts";
import { containerdConfig, nodeFiles } from "./node-files.ts";

const run = promisify(execFile);

const SEEDS = `${CACHE}/containerd`;

/** A day: longer than any work on one set of images is put aside. */
const KEPT_MS = 24 * 60 * 60 * 1_000;

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
  forgetUnused(now);
  return seed;
}

/** Removes seeds that nobody has asked for lately: each time an image changes, there is another one, of half a GB. */
function forgetUnused(now: Date): void {
  for (const name of readdirSync(SEEDS)) {
    const age = now.getTime() - statSync(`${SEEDS}/${name}`).mtimeMs;
    if (age > KEPT_MS) rmSync(`${SEEDS}/${name}`, { recursive: true, force: true });
  }
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
