import { execFile } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { promisify } from "node:util";
import { CACHE } from "../lab/removal.ts";

const exec = promisify(execFile);

const FOLDER = `${CACHE}/debian-bookworm`;
const RELEASE = "bookworm";

/** Nothing in containers or in the virtual machine reads them. */
const LEFT_OUT = [
  ...["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*"].map(withoutPath),
  withoutPath("/var/cache/apt/*"),
];

function withoutPath(path: string): string {
  return `--dpkgopt=path-exclude=${path}`;
}

/**
 * A small Debian, as an archive of its files: the images of the lab and the disk of the virtual machine begin with it. Made of Debian's
 * packages the first time, in half a minute.
 */
export async function debianRoot(): Promise<string> {
  const archive = `${FOLDER}/debian.tar`;
  if (existsSync(archive)) return archive;
  console.error("lab: making a Debian of its packages; half a minute the first time");
  mkdirSync(FOLDER, { recursive: true });
  const unfinished = `${FOLDER}/unfinished-${process.pid}.tar`;
  try {
    const include = "--include=ca-certificates";
    await mmdebstrap("--variant=minbase", include, ...LEFT_OUT, RELEASE, unfinished);
    renameSync(unfinished, archive);
  } finally {
    rmSync(unfinished, { force: true });
  }
  return archive;
}

/** Unpacks that Debian into a new folder and adds packages. `hook`: a program that mmdebstrap then calls with the folder. */
export async function unpackDebian(
  folder: string,
  packages: readonly string[],
  hook: string,
): Promise<void> {
  mkdirSync(folder);
  // mmdebstrap makes the devices.
  const argv = ["--extract", "--file", await debianRoot(), "--directory", folder];
  await exec("tar", [...argv, "--exclude=./dev/*"]);
  await mmdebstrap(
    ...["--variant=custom", "--mode=root", "--skip=check/empty", ...LEFT_OUT],
    ...[`--include=${packages.join(",")}`, `--customize-hook=${hook} "$1"`, RELEASE, folder],
  );
}

async function mmdebstrap(...args: readonly string[]): Promise<void> {
  await exec("mmdebstrap", ["--quiet", ...args]);
}
