import { isUtf8 } from "node:buffer";
import { join } from "node:path";
import type { Cidr } from "../../../api/cidr.ts";
import { parseDocuments } from "./document.ts";
import { readManifest, statManifest } from "./file-state.ts";
import { type ManifestObject, manifestObjects } from "./manifest-object.ts";
import { type FileError, type Mistake, mistake, mistakeAt, type Outcome } from "./mistake.ts";
import type { FileObjects } from "./object-index.ts";
import { type FileEvent, REST_MS, type Settling, settle } from "./settling.ts";

/** True for names of manifests: the same as `kubectl apply -f DIR`, without dot-files. */
export function isManifestName(name: string): boolean {
  return /^[^.].*\.(yaml|yml|json)$/s.test(name);
}

interface ManifestFile {
  readonly settling: Settling;
  readonly link: boolean;
  /** The last valid content. */
  readonly objects: readonly ManifestObject[];
  /** Why the current content is not used. */
  readonly mistake?: Mistake;
}

const UNKNOWN: ManifestFile = { settling: {}, link: false, objects: [] };

/** The files of one directory, each with its last valid content. Reads files; has no timers. */
export class ManifestFiles {
  readonly #directory: string;
  readonly #clusterSetCidrs: readonly Cidr[];
  readonly #files = new Map<string, ManifestFile>();

  constructor(directory: string, clusterSetCidrs: readonly Cidr[]) {
    this.#directory = directory;
    this.#clusterSetCidrs = clusterSetCidrs;
  }

  /** All known names. */
  names(): string[] {
    return [...this.#files.keys()];
  }

  /** The names that are symbolic links, whose content may change without an event for the name. */
  links(): string[] {
    return this.names().filter((name) => this.#files.get(name)?.link);
  }

  /** When the first waiting name settles, by the clock; undefined if none waits. */
  nextRest(): number | undefined {
    const times = [...this.#files.values()].flatMap((file) => restOf(file) ?? []);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** The waiting names that settle by `now` if unchanged. */
  rested(now: number): string[] {
    return this.names().filter((name) => (restOf(this.#files.get(name)) ?? now + 1) <= now);
  }

  /** The files of which no content is known yet: they cannot be read, or may still be written. */
  unread(): string[] {
    const isUnread = ({ objects, mistake }: ManifestFile) =>
      objects === UNKNOWN.objects && (mistake === undefined || mistake.fault === "unreadable");
    return [...this.#files].flatMap(([name, file]) => (isUnread(file) ? [name] : []));
  }

  /** The files whose current content is not used. */
  errors(): FileError[] {
    const errors = [...this.#files].flatMap(([file, { mistake }]) =>
      mistake === undefined ? [] : [{ file, ...mistake }],
    );
    return errors.sort((a, b) => (a.file < b.file ? -1 : 1));
  }

  /** Checks `names` after these events. Returns the content of changed files; undefined for deleted ones. */
  look(
    names: Iterable<string>,
    events: ReadonlyMap<string, FileEvent>,
    now: number,
  ): Map<string, FileObjects | undefined> {
    const changes = new Map<string, FileObjects | undefined>();
    for (const name of names) {
      const before = this.#files.get(name);
      const after = this.#check(name, before ?? UNKNOWN, events.get(name), now);
      if (after === undefined) this.#files.delete(name);
      else this.#files.set(name, after);
      if (before?.objects === after?.objects && isLeaving(before) === isLeaving(after)) continue;
      changes.set(name, after && { objects: after.objects, leaving: isLeaving(after) });
    }
    return changes;
  }

  /** The new state of one name; undefined if it is deleted. */
  #check(
    name: string,
    before: ManifestFile,
    event: FileEvent | undefined,
    now: number,
  ): ManifestFile | undefined {
    const path = join(this.#directory, name);
    const { state, link } = statManifest(path);
    const { step, after } = settle(before.settling, state, event, now);
    const same = { ...before, settling: after, link };
    if (step !== "take") return after.known || after.waiting ? same : undefined;
    if (state.kind === "gone") return undefined;
    if (state.kind === "fault") return { ...same, mistake: state.mistake };
    return this.#read(name, path, same, now);
  }

  #read(name: string, path: string, before: ManifestFile, now: number): ManifestFile {
    const { state, bytes } = readManifest(path);
    // With a fault as the known state, each later check reads the file again.
    if (state.kind === "fault") {
      return { ...before, settling: { known: state }, mistake: state.mistake };
    }
    if (bytes === undefined) {
      return { ...before, settling: { ...before.settling, waiting: { state, since: now } } };
    }
    const { objects, link } = before;
    const settling = { known: state };
    const content = parseFile(name, bytes, this.#clusterSetCidrs);
    if (content.mistake !== undefined) return { settling, link, objects, mistake: content.mistake };
    return { settling, link, objects: content.value };
  }
}

/** When a waiting file settles, by the clock; undefined if it does not wait. */
function restOf(file: ManifestFile | undefined): number | undefined {
  const since = file?.settling.waiting?.since;
  return since === undefined ? undefined : since + REST_MS;
}

function isLeaving(file: ManifestFile | undefined): boolean {
  return file?.settling.waiting?.state.kind === "gone";
}

/** The objects in the bytes of the file `name`. */
function parseFile(
  name: string,
  bytes: Buffer,
  clusterSetCidrs: readonly Cidr[],
): Outcome<readonly ManifestObject[]> {
  // To remove its objects, delete the file.
  if (bytes.length === 0) return { mistake: mistake("empty", "0 bytes") };
  const text = decodeText(bytes);
  if (text.mistake !== undefined) return text;
  const documents = parseDocuments(text.value);
  if (documents.mistake !== undefined) return documents;
  return { value: manifestObjects(name, documents.value, clusterSetCidrs) };
}

/** Decodes strict UTF-8 without control characters, some of which the YAML lexer uses internally. */
export function decodeText(bytes: Buffer): Outcome<string> {
  const text = bytes.toString("utf8");
  if (!isUtf8(bytes)) {
    // U+FFFD replaces invalid bytes. If the file contains it as well, the position is that of the first.
    return { mistake: mistakeAt(text, text.indexOf("\ufffd"), "binary", "not UTF-8") };
  }
  const control = text.search(/[^\P{Cc}\t\n\r\u0085]/u);
  if (control < 0) return { value: text };
  const code = text.charCodeAt(control).toString(16).padStart(4, "0");
  return { mistake: mistakeAt(text, control, "binary", `control character U+${code}`) };
}
