import { existsSync, readdirSync, rmdirSync } from "node:fs";
import { textAt } from "./process.ts";

/** Below it is one tree for each controller (version 1), or it is the only tree (version 2). */
const MOUNT = "/sys/fs/cgroup";

/** The top of every tree of control groups. */
export function cgroupTrees(): string[] {
  if (existsSync(`${MOUNT}/cgroup.controllers`)) return [MOUNT];
  // Links are other names of the same trees: cpu of cpu,cpuacct.
  return foldersIn(MOUNT).filter((tree) => existsSync(`${tree}/cgroup.procs`));
}

/** The names of all groups right below a top. */
export function topGroups(): string[] {
  return cgroupTrees().flatMap((tree) =>
    foldersIn(tree).map((path) => path.slice(tree.length + 1)),
  );
}

/** Every process in a group of this name or below it, in any tree. */
export function pidsInGroup(name: string): number[] {
  const texts = groups(name).map((path) => textAt(`${path}/cgroup.procs`));
  return [...new Set(texts.flatMap((text) => text.split("\n").filter(Boolean).map(Number)))];
}

/** Removes a group with all below it from every tree. True when nothing of it is left: one with processes in it stays. */
export function removeGroup(name: string): boolean {
  for (const path of groups(name)) {
    try {
      rmdirSync(path);
    } catch {
      // Somebody is in there still, or someone else has removed it: what counts is what is left.
    }
  }
  return groups(name).length === 0;
}

/** The paths of a group and of those below it, the innermost first. */
function groups(name: string): string[] {
  return cgroupTrees()
    .map((tree) => `${tree}/${name}`)
    .filter((path) => existsSync(path))
    .flatMap(withInner);
}

function withInner(path: string): string[] {
  return [...foldersIn(path).flatMap(withInner), path];
}

function foldersIn(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((one) => one.isDirectory()).map((one) => `${path}/${one.name}`);
  } catch {
    // No control groups here, or this one has just been removed.
    return [];
  }
}
