import { type Problem, shown } from "../../../api/problem.ts";
import type { FactTables } from "../fact-tables.ts";
import type { ObjectTable, ParsedObject } from "../object-table.ts";
import type { ManifestObject } from "./manifest-object.ts";

/** The objects of one file. */
export interface FileObjects {
  readonly objects: readonly ManifestObject[];
  /** The file is deleted, but not settled yet: other files take precedence. */
  readonly leaving: boolean;
}

/** Maximum problems per object, as in `Complaints`. */
const KEPT = 100;

interface Candidate extends ManifestObject {
  readonly leaving: boolean;
}

/** The objects of all files. Of several definitions of an object, the first by file name, then by position, is used. */
export class ObjectIndex {
  readonly #files = new Map<string, FileObjects>();
  /** The files that define an object, by `ManifestObject.object`. */
  readonly #holders = new Map<string, Set<string>>();

  /** Updates the content of files, by name (undefined for a deleted file), and the objects of these files in `tables`. */
  update(
    changes: ReadonlyMap<string, FileObjects | undefined>,
    tables: FactTables,
    at: number,
  ): void {
    const touched = new Map<string, keyof FactTables>();
    for (const [file, objects] of changes) this.#replace(file, objects, touched);
    const candidates = this.#candidates(touched);
    for (const [object, name] of touched) {
      const table: Pick<ObjectTable<unknown>, "set"> = tables[name];
      table.set(object, definitionOf(candidates.get(object) ?? []), at);
    }
  }

  /** The current objects of `file`. */
  objectsOf(file: string): readonly ManifestObject[] {
    return this.#files.get(file)?.objects ?? [];
  }

  #replace(
    file: string,
    next: FileObjects | undefined,
    touched: Map<string, keyof FactTables>,
  ): void {
    for (const { object, table } of this.objectsOf(file)) {
      touched.set(object, table);
      const holders = this.#holders.get(object);
      holders?.delete(file);
      if (holders?.size === 0) this.#holders.delete(object);
    }
    if (next === undefined) {
      this.#files.delete(file);
      return;
    }
    this.#files.set(file, next);
    for (const { object, table } of next.objects) {
      touched.set(object, table);
      const holders = this.#holders.get(object);
      if (holders === undefined) this.#holders.set(object, new Set([file]));
      else holders.add(file);
    }
  }

  /** All definitions of the objects in `touched`, the used one first. */
  #candidates(touched: ReadonlyMap<string, unknown>): Map<string, Candidate[]> {
    const files = new Set<string>();
    for (const object of touched.keys()) {
      for (const file of this.#holders.get(object) ?? []) files.add(file);
    }
    const candidates = this.#ordered(files).flatMap(({ objects, leaving }) =>
      objects.filter(({ object }) => touched.has(object)).map((one) => ({ ...one, leaving })),
    );
    return Map.groupBy(candidates, ({ object }) => object);
  }

  /** By name, deleted ones last. */
  #ordered(names: ReadonlySet<string>): FileObjects[] {
    const files = [...names].sort().flatMap((name) => this.#files.get(name) ?? []);
    return [...files.filter((file) => !file.leaving), ...files.filter((file) => file.leaving)];
  }
}

function definitionOf(candidates: readonly Candidate[]): ParsedObject<unknown> | undefined {
  const [first, ...others] = candidates;
  if (first === undefined) return undefined;
  const duplicates = others.filter(({ leaving }) => !leaving).map(duplicate);
  const problems = first.named
    ? [...first.problems, ...duplicates]
    : candidates.flatMap((candidate) => candidate.problems);
  return { ...first, problems: problems.slice(0, KEPT) };
}

function duplicate({ object, place }: Candidate): Problem {
  return { reason: "duplicate-object", object, field: "metadata.name", value: shown(place) };
}
