import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { kubernetesCommand } from "../apiserver/commands.ts";
import { CACHE } from "../lab/removal.ts";
import { debianRoot } from "../vm/debian.ts";
import { forgetUnused } from "./forget.ts";
import { PAUSE_IMAGE } from "./node-files.ts";

/** An image to build. */
export interface Recipe {
  /** Registry, name and tag, in full. */
  readonly tag: string;
  /** A folder with a Dockerfile, or a Dockerfile alone. */
  readonly folder: string;
  /** Files and folders that the Dockerfile copies, besides what is in its folder. */
  readonly context: readonly string[];
  /** Image that it is built from: built before. */
  readonly base?: BuiltImage;
  /** Of `buildah bud`: `--build-arg=NAME=VALUE`. */
  readonly args?: readonly string[];
  /** Only other images are built from it, and no node has it: its archive is empty, as it takes longer to compress than to build. */
  readonly isBase?: true;
}

export interface BuiltImage {
  readonly tag: string;
  /** An OCI archive. Its name follows from all that went into it. */
  readonly archive: string;
  /** Says what went into it. */
  readonly key: string;
}

const STORAGE = `${CACHE}/buildah`;

/** Builds an image, unless just this has been built before. Nothing is pulled, and the machine's own images are not seen. */
export async function build(recipe: Recipe): Promise<BuiltImage> {
  const { tag, folder, context, base, args = [], isBase = false } = recipe;
  const hash = createHash("sha256").update([tag, base?.key ?? "", ...args, ""].join("\n"));
  for (const path of [folder, ...context]) digest(hash, path);
  const key = hash.digest("hex").slice(0, 12);
  const archive = `${CACHE}/images/${basename(tag).replace(":", "-")}-${key}.tar`;
  if (fs.existsSync(archive)) {
    const now = new Date();
    fs.utimesSync(archive, now, now);
    return { tag, archive, key };
  }
  console.error(`lab: building ${tag}`);
  fs.mkdirSync(`${CACHE}/images`, { recursive: true });
  const work = fs.mkdtempSync(`${CACHE}/images/building-`);
  try {
    for (const path of [folder, ...context]) {
      const alone = path === folder && fs.statSync(path).isFile();
      const name = alone ? "Dockerfile" : path === folder ? "." : basename(path);
      const target = join(work, name);
      fs.cpSync(path, target, { recursive: true, dereference: true });
    }
    const how = ["--isolation", "chroot", "--pull-never", "--layers"];
    await apart("buildah", "bud", ...how, ...args, "--tag", tag, work);
    if (isBase) fs.writeFileSync(`${work}/archive.tar`, "");
    else await apart("buildah", "push", tag, `oci-archive:${work}/archive.tar:${tag}`);
    fs.renameSync(`${work}/archive.tar`, archive);
    // Images whose name another one has taken, and their layers, unless others have them, too; and, before, containers of builds
    // that were killed, which keep them. In one go: no build is under way, and none is killed in between.
    await apart("sh", "-c", "buildah rm --all && buildah rmi --prune");
  } finally {
    fs.rmSync(work, { recursive: true });
  }
  forgetUnused(`${CACHE}/images`, (name) => name.replace(/-[^-]*$/, ""));
  return { tag, archive, key };
}

/**
 * What buildah writes below /var/lib and /run is in our cache, or nowhere. Its configuration names a folder for networks, or
 * it would make /etc/cni.
 */
const APART = 'mount --bind "$1" /var/lib && mount -t tmpfs tmpfs /run && shift && exec "$@"';

async function apart(...args: readonly string[]): Promise<void> {
  fs.mkdirSync(`${STORAGE}/lib`, { recursive: true });
  const config = `${STORAGE}/containers.conf`;
  fs.writeFileSync(config, `[network]\nnetwork_config_dir = "/run/networks"\n`);
  // One at a time: two would not see what the other has mounted.
  const alone = [`${STORAGE}/lock`, "unshare", "--mount", "--propagation", "private"];
  const argv = [...alone, "sh", "-c", APART, "sh", `${STORAGE}/lib`, ...args];
  const env = { ...process.env, CONTAINERS_CONF: config };
  await promisify(execFile)("flock", argv, { env, maxBuffer: 64 * 1024 * 1024 });
}

/** Programs, too, by what is in them: another copy of the same is no reason to build everything anew. */
function digest(hash: ReturnType<typeof createHash>, path: string): void {
  const stat = fs.statSync(path);
  if (stat.isDirectory()) {
    for (const name of fs.readdirSync(path).sort()) digest(hash, join(path, name));
    return;
  }
  hash.update(`${basename(path)} ${stat.size}\n`);
  hash.update(fs.readFileSync(path));
}

/** The cluster's DNS server, as Kubernetes has it. `join` reads its version from the tag. */
export const COREDNS_IMAGE = "lab.local/coredns:1.15.0";

/** Kubernetes' server and client for tests, as guides name it. */
const AGNHOST_IMAGE = "registry.k8s.io/e2e-test-images/agnhost:2.63.0";

/** `serve` and `request`, for connections between pods: `node /app/serve/serve.ts`, `node /app/request/request.ts`. */
export const PROBE_IMAGE = "lab.local/probe:1";

const FOLDER = `${import.meta.dirname}/images`;
const REPOSITORY = `${import.meta.dirname}/../..`;

/** What every node has from the beginning. Builds what is not there yet: a minute the first time, then nothing. */
export async function labImages(): Promise<BuiltImage[]> {
  const catatonit = await whereIs("catatonit");
  const node = await nodeImage();
  return [
    await build({ tag: PAUSE_IMAGE, folder: `${FOLDER}/pause`, context: [catatonit] }),
    await build({
      tag: COREDNS_IMAGE,
      folder: `${FOLDER}/coredns`,
      context: [kubernetesCommand("coredns")],
    }),
    await build({
      tag: PROBE_IMAGE,
      folder: `${FOLDER}/probe`,
      context: [`${REPOSITORY}/images/serve`, `${REPOSITORY}/images/request`],
      base: node,
    }),
  ];
}

/** The image of the install guide's server and client. */
export async function agnhostImage(): Promise<BuiltImage> {
  return build({
    tag: AGNHOST_IMAGE,
    folder: `${FOLDER}/agnhost`,
    context: [kubernetesCommand("agnhost")],
    base: await debianImage(),
  });
}

/** What Dockerfiles of this repository begin with: `node:24-bookworm-slim`, made of Debian's packages and our Node. */
export async function nodeImage(): Promise<BuiltImage> {
  return build({
    tag: "docker.io/library/node:24-bookworm-slim",
    folder: `${FOLDER}/node`,
    context: [process.execPath],
    base: await debianImage(),
    isBase: true,
  });
}

async function debianImage(): Promise<BuiltImage> {
  return build({
    tag: "docker.io/library/debian:bookworm-slim",
    folder: `${FOLDER}/debian`,
    context: [await debianRoot()],
    isBase: true,
  });
}

async function whereIs(program: string): Promise<string> {
  const { stdout } = await promisify(execFile)("sh", ["-c", `command -v ${program}`]);
  return stdout.trim();
}
