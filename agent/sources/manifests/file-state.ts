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
import { counted } from "../../../api/count.ts";
import { type Mistake, mistake, unreadable } from "./mistake.ts";

/** Maximum size of a manifest file. */
export const MOST_BYTES = 32 * 1024 * 1024;

/** A regular file, identified by stat. */
export interface RegularFile {
  readonly kind: "file";
  /** Changes when the name is replaced by another file. */
  readonly inode: string;
  /** Changes with the content; identifies it together with `inode`. */
  readonly version: string;
  readonly size: number;
}

/** The state of one name in the directory. */
export type FileState =
  | RegularFile
  | { readonly kind: "gone" }
  | { readonly kind: "fault"; readonly mistake: Mistake };

/** The state of a name, and whether it is a symbolic link, which is followed. A dangling link is a fault. */
export function statManifest(path: string): { readonly state: FileState; readonly link: boolean } {
  let link = false;
  try {
    const own = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (own === undefined) return { state: { kind: "gone" }, link };
    link = own.isSymbolicLink();
    return { state: stateOf(link ? statSync(path, { bigint: true }) : own), link };
  } catch (error) {
    return { state: { kind: "fault", mistake: unreadable(error) }, link };
  }
}

/** The content of a file: its bytes if `state` did not change while they were read. */
export interface FileRead {
  readonly state: FileState;
  /** Absent if the file was not read completely; see `state`. */
  readonly bytes?: Buffer;
}

/** Reads a whole file. `state` is that of the same file after reading. */
export function readManifest(path: string): FileRead {
  let fd: number | undefined;
  try {
    // Without O_NONBLOCK, opening a FIFO would block until it has a writer.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const before = stateOf(fstatSync(fd, { bigint: true }));
    if (before.kind !== "file") return { state: before };
    if (before.size > MOST_BYTES) {
      const detail = `${counted(before.size, "byte")}; the maximum is ${MOST_BYTES}`;
      return { state: { kind: "fault", mistake: mistake("too-large", detail) } };
    }
    const bytes = readFileSync(fd);
    const after = stateOf(fstatSync(fd, { bigint: true }));
    return isSameState(before, after) ? { state: after, bytes } : { state: after };
  } catch (error) {
    return { state: { kind: "fault", mistake: unreadable(error) } };
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** True if two states have the same content, the same fault, or if both are deleted. */
export function isSameState(a: FileState, b: FileState): boolean {
  if (a.kind === "file" && b.kind === "file") return a.inode === b.inode && a.version === b.version;
  if (a.kind === "fault" && b.kind === "fault") return a.mistake.detail === b.mistake.detail;
  return a.kind === b.kind;
}

function stateOf(stats: BigIntStats): FileState {
  if (!stats.isFile()) {
    return { kind: "fault", mistake: mistake("not-a-file", "a directory, device or socket") };
  }
  // Includes ctime: copies that preserve times (cp -p, rsync -t) may have the same size and mtime.
  return {
    kind: "file",
    inode: `${stats.dev}:${stats.ino}`,
    version: `${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`,
    size: Number(stats.size),
  };
}
