import { isDeepStrictEqual } from "node:util";
import { type Problem, shown } from "../../../api/problem.ts";
import type { ManifestFact, ManifestObject } from "./manifest-object.ts";

/** What one file holds. */
export interface FileObjects {
  readonly objects: readonly ManifestObject[];
  /** The file is gone, though not yet for long enough to be believed: it yields to any other. */
  readonly leaving: boolean;
}

/** What has become different, to be told in this order: an object that moved is never told as removed. */
export interface Delta {
  readonly problems: readonly { readonly object: string; readonly problems: readonly Problem[] }[];
  readonly changed: readonly ManifestFact[];
  readonly removed: readonly ManifestFact[];
}

/** Problems kept per object, as for one that is parsed. */
const KEPT = 100;

interface Candidate extends ManifestObject {
  readonly leaving: boolean;
}

/** What was told of one object last. */
interface Standing {
  readonly content?: ManifestFact;
  readonly problems: readonly Problem[];
}

const NOTHING: Standing = { problems: [] };

/**
 * Which object stands in which file, and which one counts where several claim to be the same: the first by
 * name of the file, then by position in it. Each `update` gives the difference to what was told before.
 */
export class ObjectIndex {
  readonly #files = new Map<string, FileObjects>();
  /** By `ManifestObject.object`: the files that hold it. */
  readonly #holders = new Map<string, Set<string>>();
  readonly #standings = new Map<string, Standing>();

  /** Takes the new content of files by name; undefined for one that is gone. */
  update(changes: ReadonlyMap<string, FileObjects | undefined>): Delta {
    const touched = new Set<string>();
    for (const [file, objects] of changes) this.#replace(file, objects, touched);
    const problems: { object: string; problems: readonly Problem[] }[] = [];
    const changed: ManifestFact[] = [];
    const removed: ManifestFact[] = [];
    const candidates = this.#candidates(touched);
    for (const object of touched) {
      const before = this.#standings.get(object) ?? NOTHING;
      const after = standing(candidates.get(object) ?? []);
      if (after === NOTHING) this.#standings.delete(object);
      else this.#standings.set(object, after);
      if (!isDeepStrictEqual(before.problems, after.problems)) {
        problems.push({ object, problems: after.problems });
      }
      if (after.content === undefined) {
        if (before.content !== undefined) removed.push(before.content);
      } else if (!isDeepStrictEqual(before.content, after.content)) changed.push(after.content);
    }
    return { problems, changed, removed };
  }

  /** What `file` holds as of now. */
  objectsOf(file: string): readonly ManifestObject[] {
    return this.#files.get(file)?.objects ?? [];
  }

  #replace(file: string, next: FileObjects | undefined, touched: Set<string>): void {
    for (const { object } of this.objectsOf(file)) {
      touched.add(object);
      const holders = this.#holders.get(object);
      holders?.delete(file);
      if (holders?.size === 0) this.#holders.delete(object);
    }
    if (next === undefined) {
      this.#files.delete(file);
      return;
    }
    this.#files.set(file, next);
    for (const { object } of next.objects) {
      touched.add(object);
      const holders = this.#holders.get(object);
      if (holders === undefined) this.#holders.set(object, new Set([file]));
      else holders.add(file);
    }
  }

  /** All claims to the objects in `touched`, the one that counts first. */
  #candidates(touched: ReadonlySet<string>): Map<string, Candidate[]> {
    const files = new Set<string>();
    for (const object of touched) {
      for (const file of this.#holders.get(object) ?? []) files.add(file);
    }
    const found = new Map<string, Candidate[]>();
    for (const { objects, leaving } of this.#ordered(files)) {
      for (const object of objects) {
        if (!touched.has(object.object)) continue;
        const candidate = { ...object, leaving };
        const others = found.get(object.object);
        if (others === undefined) found.set(object.object, [candidate]);
        else others.push(candidate);
      }
    }
    return found;
  }

  /** By name, those that are leaving last. */
  #ordered(names: ReadonlySet<string>): FileObjects[] {
    const files = [...names].sort().flatMap((name) => this.#files.get(name) ?? []);
    return [...files.filter((file) => !file.leaving), ...files.filter((file) => file.leaving)];
  }
}

function standing(candidates: readonly Candidate[]): Standing {
  const [first, ...others] = candidates;
  if (first === undefined) return NOTHING;
  if (!first.named) {
    return { problems: candidates.flatMap(({ problems }) => problems).slice(0, KEPT) };
  }
  const duplicates = others.filter(({ leaving }) => !leaving).map(duplicate);
  const problems = [...first.problems, ...duplicates].slice(0, KEPT);
  return { problems, ...(first.content && { content: first.content }) };
}

function duplicate({ object, place }: Candidate): Problem {
  return { reason: "duplicate-object", object, field: "metadata.name", value: shown(place) };
}
