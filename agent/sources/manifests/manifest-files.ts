import { join } from "node:path";
import type { Cidr } from "../../../api/cidr.ts";
import { decodeText } from "./decode.ts";
import { parseDocuments } from "./document.ts";
import { type ManifestObject, manifestObjects } from "./manifest-object.ts";
import { type FileError, type Mistake, mistake, type Outcome } from "./mistake.ts";
import type { FileObjects } from "./object-index.ts";
import { type FileEvent, REST_MS, type Settling, settle } from "./settling.ts";
import { lookAt, readManifest } from "./sight.ts";

/** True for the names that are read: `kubectl apply -f DIR` takes the same, and no dot-files either. */
export function isManifestName(name: string): boolean {
  return /^[^.].*\.(yaml|yml|json)$/s.test(name);
}

interface ManifestFile {
  readonly settling: Settling;
  readonly link: boolean;
  /** The last good content. */
  readonly objects: readonly ManifestObject[];
  /** Why the content that is there now is not that. */
  readonly mistake?: Mistake;
}

const UNKNOWN: ManifestFile = { settling: {}, link: false, objects: [] };

/** What is known of the files of one directory, each with its last good content. Reads files; keeps no time. */
export class ManifestFiles {
  readonly #directory: string;
  readonly #clusterSetCidrs: readonly Cidr[];
  readonly #files = new Map<string, ManifestFile>();
  /** Of them, those that have yet to rest, that are symbolic links, and that are broken. */
  readonly #waiting = new Set<string>();
  readonly #links = new Set<string>();
  readonly #broken = new Map<string, Mistake>();

  constructor(directory: string, clusterSetCidrs: readonly Cidr[]) {
    this.#directory = directory;
    this.#clusterSetCidrs = clusterSetCidrs;
  }

  /** Every name that is known, the one whose last look is the longest ago first. */
  names(): string[] {
    return [...this.#files.keys()];
  }

  /** The names that are symbolic links, whose content may change without an event for the name. */
  links(): ReadonlySet<string> {
    return this.#links;
  }

  /** When the first waiting name will have rested, by the clock; undefined if none waits. */
  nextRest(): number | undefined {
    const times = [...this.#waiting].map((name) => this.#restOf(name));
    return times.length === 0 ? undefined : Math.min(...times);
  }

  /** The waiting names that will have rested at `now` if they are still the same. */
  rested(now: number): string[] {
    return [...this.#waiting].filter((name) => this.#restOf(name) <= now);
  }

  /** The files that could not be taken as they stand. */
  errors(): FileError[] {
    const errors = [...this.#broken].map(([file, mistake]) => ({ file, ...mistake }));
    return errors.sort((a, b) => (a.file < b.file ? -1 : 1));
  }

  /**
   * Looks at `names`, given the events since the last look. Gives the content of the files that changed;
   * undefined for one that is gone.
   */
  look(
    names: Iterable<string>,
    events: ReadonlyMap<string, FileEvent>,
    now: number,
  ): Map<string, FileObjects | undefined> {
    const changes = new Map<string, FileObjects | undefined>();
    for (const name of names) {
      const before = this.#files.get(name);
      const after = this.#lookAt(name, before ?? UNKNOWN, events.get(name), now);
      this.#keep(name, after);
      if (before?.objects === after?.objects && isLeaving(before) === isLeaving(after)) continue;
      changes.set(name, after && { objects: after.objects, leaving: isLeaving(after) });
    }
    return changes;
  }

  /** What to remember of one name; undefined if it is to be forgotten. */
  #lookAt(
    name: string,
    before: ManifestFile,
    event: FileEvent | undefined,
    now: number,
  ): ManifestFile | undefined {
    const path = join(this.#directory, name);
    const { sight, link } = lookAt(path);
    const { step, after } = settle(before.settling, sight, event, now);
    const same = { ...before, settling: after, link };
    if (step !== "take") return after.known || after.waiting ? same : undefined;
    if (sight.kind === "gone") return undefined;
    if (sight.kind === "fault") return { ...same, mistake: sight.mistake };
    return this.#read(name, path, same, now);
  }

  #read(name: string, path: string, before: ManifestFile, now: number): ManifestFile {
    const { sight, bytes } = readManifest(path);
    // A fault that is remembered in place of the file makes every later look try again.
    if (sight.kind === "fault") {
      return { ...before, settling: { known: sight }, mistake: sight.mistake };
    }
    if (bytes === undefined) {
      return { ...before, settling: { ...before.settling, waiting: { sight, since: now } } };
    }
    const { objects, link } = before;
    const settling = { known: sight };
    const content = parseFile(name, bytes, this.#clusterSetCidrs);
    if (content.mistake !== undefined) return { settling, link, objects, mistake: content.mistake };
    return { settling, link, objects: content.value };
  }

  #keep(name: string, file: ManifestFile | undefined): void {
    // Deleted and set again, the name goes to the end of `names`.
    for (const names of [this.#files, this.#waiting, this.#links, this.#broken]) names.delete(name);
    if (file === undefined) return;
    this.#files.set(name, file);
    if (file.settling.waiting !== undefined) this.#waiting.add(name);
    if (file.link) this.#links.add(name);
    if (file.mistake !== undefined) this.#broken.set(name, file.mistake);
  }

  #restOf(name: string): number {
    const since = this.#files.get(name)?.settling.waiting?.since ?? Number.NEGATIVE_INFINITY;
    return since + REST_MS;
  }
}

function isLeaving(file: ManifestFile | undefined): boolean {
  return file?.settling.waiting?.sight.kind === "gone";
}

/** The objects in the bytes of the file `name`. */
function parseFile(
  name: string,
  bytes: Buffer,
  clusterSetCidrs: readonly Cidr[],
): Outcome<readonly ManifestObject[]> {
  // Whoever wants a file's objects gone removes the file.
  if (bytes.length === 0) return { mistake: mistake("empty", "0 bytes") };
  const text = decodeText(bytes);
  if (text.mistake !== undefined) return text;
  const documents = parseDocuments(text.value);
  if (documents.mistake !== undefined) return documents;
  return { value: manifestObjects(name, documents.value, clusterSetCidrs) };
}
