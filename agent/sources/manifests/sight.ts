import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  statSync,
} from "node:fs";
import { type Mistake, mistake, unreadable } from "./mistake.ts";

/** Bytes that a manifest file may have. */
export const MOST_BYTES = 32 * 1024 * 1024;

/** A regular file, as stat tells one content from another. */
export interface FileSight {
  readonly kind: "file";
  /** Changes with the file that has the name: an atomic replacement. */
  readonly inode: string;
  /** Changes with the content; together with `inode` it says which content this is. */
  readonly version: string;
  readonly size: number;
}

/** What one look at a name in the directory shows. */
export type Sight =
  | FileSight
  | { readonly kind: "gone" }
  | { readonly kind: "fault"; readonly mistake: Mistake };

/** A sight, and whether the name is a symbolic link, whose target changes without an event for the name. */
export interface Look {
  readonly sight: Sight;
  readonly link: boolean;
}

/** Looks at one name, through symbolic links. A link that leads nowhere is a fault: the name is there. */
export function lookAt(path: string): Look {
  let link = false;
  try {
    const own = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (own === undefined) return { sight: { kind: "gone" }, link };
    link = own.isSymbolicLink();
    return { sight: sightOf(link ? statSync(path, { bigint: true }) : own), link };
  } catch (error) {
    return { sight: { kind: "fault", mistake: unreadable(error) }, link };
  }
}

/** The content of a file: its bytes if `sight` did not change while they were read. */
export interface FileRead {
  readonly sight: Sight;
  /** Absent if the file is not to be read: `sight` says why. */
  readonly bytes?: Buffer;
}

/** Reads a whole file. `sight` is of the moment after reading, and of the very file that was read. */
export function readManifest(path: string): FileRead {
  let fd: number | undefined;
  try {
    // Without O_NONBLOCK, opening a FIFO put there since the last look would wait for its writer for ever.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const before = sightOf(fstatSync(fd, { bigint: true }));
    if (before.kind !== "file") return { sight: before };
    if (before.size > MOST_BYTES) {
      const detail = `${before.size} bytes; ${MOST_BYTES} are allowed`;
      return { sight: { kind: "fault", mistake: mistake("too-large", detail) } };
    }
    const bytes = readFileSync(fd);
    const after = sightOf(fstatSync(fd, { bigint: true }));
    return isSameSight(before, after) ? { sight: after, bytes } : { sight: after };
  } catch (error) {
    return { sight: { kind: "fault", mistake: unreadable(error) } };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** True if two sights are of the same content, the same absence, or the same fault. */
export function isSameSight(a: Sight, b: Sight): boolean {
  if (a.kind === "file" && b.kind === "file") return a.inode === b.inode && a.version === b.version;
  if (a.kind === "fault" && b.kind === "fault") return a.mistake.detail === b.mistake.detail;
  return a.kind === b.kind;
}

function sightOf(stats: BigIntStats): Sight {
  if (!stats.isFile()) {
    return { kind: "fault", mistake: mistake("not-a-file", "a directory, device or socket") };
  }
  // ctime, too: a copy that keeps its source's times (cp -p, rsync -t) may leave size and mtime alike.
  return {
    kind: "file",
    inode: `${stats.dev}:${stats.ino}`,
    version: `${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`,
    size: Number(stats.size),
  };
}
