import { execFileSync, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { join, resolve } from "node:path";
import { CACHE } from "../lab/removal.ts";
import { type Release, releaseIn } from "./release.ts";

/** The commit of the last release, 0.2.0. Move it to the commit of each release, and never further: an upgrade starts there. */
const COMMIT = "f13cae0a2593351126457c6f4f8d44ea95bc1e19";

const REPOSITORY = resolve(import.meta.dirname, "../..");
const LOCK = "package-lock.json";
/** The sources of its programs, their packages, and what operators apply. */
const PARTS = [
  ...["agent", "api", "bin", "cli", "common", "controller", "deploy"],
  ...[".npmrc", "package.json", LOCK],
];

interface LockedPackage {
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** Reason why the last release is unavailable, with the command that fetches it; undefined if it is available. */
export function earlierReleaseMissing(): string | undefined {
  const { status } = spawnSync("git", ["-C", REPOSITORY, "cat-file", "-e", `${COMMIT}^{commit}`]);
  if (status === 0) return undefined;
  return `commit ${COMMIT.slice(0, 12)} is not here; run "git fetch --unshallow", or clone the repository if this is a tarball`;
}

/** The last release, as sources in the tests' cache. */
export function earlierRelease(): Release {
  return releaseIn(unpacked());
}

/**
 * The folder of the last release. It uses the npm packages of this repository, unless it pins others: then npm installs these
 * once.
 */
function unpacked(): string {
  const sharesPackages = pinsSamePackages();
  const root = join(CACHE, `earlier-${COMMIT.slice(0, 12)}${sharesPackages ? "" : "-packages"}`);
  if (!fs.existsSync(root)) unpack(root, sharesPackages);
  if (sharesPackages) linkPackages(root);
  return root;
}

/** Whether both pin the same dependencies. Those of dependencies may differ: they are in the range that each of these accepts. */
function pinsSamePackages(): boolean {
  const ours = packagesIn(fs.readFileSync(join(REPOSITORY, LOCK), "utf8"));
  const theirs = packagesIn(git("show", `${COMMIT}:${LOCK}`).toString());
  const paths = Object.keys(theirs[""]?.dependencies ?? {}).map((name) => `node_modules/${name}`);
  return paths.every((path) => theirs[path]?.integrity === ours[path]?.integrity);
}

/** The packages of a lock file by path. The path of the project is empty. */
function packagesIn(text: string) {
  const { packages } = JSON.parse(text) as { readonly packages: Record<string, LockedPackage> };
  return packages;
}

function unpack(root: string, sharesPackages: boolean): void {
  fs.mkdirSync(CACHE, { recursive: true });
  // Renamed once it is complete: a run may be killed, and another one may do the same.
  const draft = fs.mkdtempSync(`${root}-`);
  execFileSync("tar", ["-x", "-C", draft], { input: git("archive", COMMIT, ...PARTS) });
  if (!sharesPackages) execFileSync("npm", ["install", "--no-save"], { cwd: draft });
  if (fs.existsSync(root)) fs.rmSync(draft, { recursive: true });
  else fs.renameSync(draft, root);
}

/** Links this repository's packages: the last run may have been in another clone, which was deleted since. */
function linkPackages(root: string): void {
  const draft = join(root, `node_modules-${process.pid}`);
  fs.symlinkSync(join(REPOSITORY, "node_modules"), draft);
  fs.renameSync(draft, join(root, "node_modules"));
}

function git(...args: readonly string[]): Buffer {
  return execFileSync("git", ["-C", REPOSITORY, ...args], { maxBuffer: 64 * 1024 * 1024 });
}
