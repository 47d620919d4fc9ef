import { matchesGlob } from "node:path";
import type { Artefact } from "./builds.ts";
import { PLAN, type Row, rowsOf, testFiles } from "./plan.ts";

/**
 * The parts of a run: `unit` needs no root; `test` is all of `make test`; `rest` is what `make test-all` runs besides; `here` is that
 * without the virtual machine, and `guest` the virtual machine alone; `some` is each named file, whole.
 */
export const PARTS = ["unit", "test", "rest", "here", "guest", "some"] as const;
export type Part = (typeof PARTS)[number];

/** What runs after `make test`, and makes other random choices each time. */
export const isOfRest = (part: Part): boolean => ["rest", "here", "guest"].includes(part);

/** One process of a run. */
export interface Job {
  readonly name: string;
  /** Test files, relative to the repository. Empty for `check`. */
  readonly files: readonly string[];
  /** Only tests whose names match, or do not: regular expressions, as Node's flags take them. */
  readonly only?: string;
  readonly skip?: string;
  /** Expected duration. */
  readonly seconds: number;
  /** Slots of the pool. */
  readonly weight: number;
  readonly alone: boolean;
  /** True if its files are never repeated. */
  readonly once?: boolean;
  /** True if the files share a process and need no root. */
  readonly unit: boolean;
  /** For the virtual machine: which of the files run last there, with none beside them. Undefined: the job runs here. */
  readonly guest?: { readonly alone: readonly string[] };
  readonly needs: readonly Artefact[];
}

const DEFAULT_SECONDS = 10;
/** All unit tests, with one processor. */
const UNIT_SECONDS = 120;
const CHECK_SECONDS = 20;

/** The jobs of a part. `patterns`: only files that match one of these globs, or are one of these files. */
export function jobsOf(
  part: Part,
  shards: number,
  patterns: readonly string[] = [],
  files: readonly string[] = testFiles(),
): Job[] {
  const chosen = files.filter(
    (file) => patterns.length === 0 || patterns.some((pattern) => matchesGlob(file, pattern)),
  );
  if (part === "some") return [...unitJobs(chosen, shards), ...rooted(chosen, whole)];
  const isRandom = (file: string): boolean => rowsOf(file).some(({ random }) => random === true);
  const isRest = isOfRest(part);
  const units = unitJobs(isRest ? chosen.filter(isRandom) : chosen, shards);
  if (part === "unit") return units;
  const check = part === "test" && patterns.length === 0 ? [CHECK] : [];
  const jobs = [...check, ...units, ...rooted(chosen, isRest ? inRest : inTest)];
  if (part === "here") return jobs.filter(({ guest }) => guest === undefined);
  return part === "guest" ? jobs.filter(({ guest }) => guest !== undefined) : jobs;
}

const CHECK: Job = {
  ...{ name: "make check", files: [], seconds: CHECK_SECONDS },
  ...{ weight: 1, alone: false, unit: false, needs: [] },
};

/** What needs no root shares processes: each compiles what its files import. */
function unitJobs(files: readonly string[], shards: number): Job[] {
  const units = files.filter((file) => rowsOf(file).some(({ target }) => target === "unit"));
  const seconds = Math.ceil((UNIT_SECONDS * units.length) / files.length / shards);
  return Array.from({ length: shards }, (_, shard) => ({
    ...{ name: `unit tests ${shard + 1}/${shards}`, seconds },
    files: units.filter((_, i) => i % shards === shard),
    ...{ weight: 1, alone: false, unit: true, needs: [] },
  })).filter((job) => job.files.length > 0);
}

interface Filter {
  readonly only?: string;
  readonly skip?: string;
}

const whole = (): Filter => ({});

/** Which tests of a row's files are in `make test`; undefined: none. */
function inTest({ target, only, skip }: Row): Filter | undefined {
  if (target !== "test") return undefined;
  return { ...(only !== undefined && { only }), ...(skip !== undefined && { skip }) };
}

/** Which tests are left for the rest; undefined: none. */
function inRest({ target, only, skip, random, guest }: Row): Filter | undefined {
  // Whole files share one guest: another guest would take longer than the tests that it leaves out.
  if (target === "all" || random === true || (guest === true && only !== undefined)) return {};
  if (only !== undefined) return { skip: only };
  return skip === undefined ? undefined : { only: skip };
}

function secondsOf({ seconds = DEFAULT_SECONDS, secondsOfRest = seconds }: Row, isRest: boolean) {
  return isRest ? secondsOfRest : seconds;
}

/** One job for each file; all files for the guest with the same filter share a guest. */
function rooted(files: readonly string[], filter: (row: Row) => Filter | undefined): Job[] {
  const here: Job[] = [];
  const guests = new Map<string, Job>();
  for (const file of files) {
    for (const row of rowsOf(file)) {
      if (row.target === "unit" || row.target === "check") continue;
      const filters = filter(row);
      if (filters === undefined) continue;
      const job: Job = {
        ...{ name: file, files: [file], ...filters, unit: false },
        ...{ seconds: secondsOf(row, filter === inRest), weight: row.weight ?? 1 },
        ...{ alone: row.alone ?? false, needs: row.needs ?? [] },
        ...(row.once === true && { once: true }),
      };
      const key = JSON.stringify(filters);
      if (row.guest !== true) here.push(job);
      else guests.set(key, inGuest(job, guests.get(key)));
    }
  }
  return [...here, ...guests.values()];
}

/**
 * A file in the guest that others share. The guest runs two files at a time on two emulated processors, which take all of two real
 * ones: beside other jobs, neither gets anywhere.
 */
function inGuest(job: Job, others: Job | undefined): Job {
  const alone = job.alone ? job.files : [];
  return {
    ...{ ...job, name: "the virtual machine", alone: true },
    files: [...(others?.files ?? []), ...job.files],
    guest: { alone: [...(others?.guest?.alone ?? []), ...alone] },
    seconds: (others?.seconds ?? 0) + Math.ceil(job.seconds / (others === undefined ? 1 : 2)),
  };
}

/** A job again, with these of its files. */
export function again(job: Job, files: readonly string[]): Job {
  return { ...job, name: `${files.join(" ")}, again`, files: files.length > 0 ? files : job.files };
}

/** Rows to which no file belongs first: a typing error, or what is left of a deleted file. */
export function idleRows(files: readonly string[] = testFiles(), plan = PLAN): string[] {
  const used = new Set(files.flatMap((file) => rowsOf(file, plan)));
  return plan.filter((row) => !used.has(row)).map((row) => row.files);
}
