import { isDeepStrictEqual } from "node:util";
import type { Cidr } from "../../../api/cidr.ts";
import type { Cancel, Clock } from "../../../common/clock.ts";
import type { Logger } from "../../../common/log.ts";
import { type FactTables, factTables } from "../fact-tables.ts";
import type { Source, SourceEvents } from "../source.ts";
import { DirectoryWatch, type WatchDirectory, watchDirectory } from "./directory-watch.ts";
import { isManifestName, ManifestFiles } from "./manifest-files.ts";
import type { FileError, FileFault, Mistake, Outcome } from "./mistake.ts";
import { ObjectIndex } from "./object-index.ts";
import type { FileEvent } from "./settling.ts";

/** Milliseconds between resyncs, which find changes without inotify events: about 4 us per file. */
export const RESYNC_MS = 5000;
/** Milliseconds between checks of a missing directory, and of unreadable files at a start. */
export const RETRY_MS = 500;
/** Milliseconds for which a file that cannot be read at a start delays everything: without its objects, their rules would be deleted. */
export const UNREAD_MS = 60_000;

/** After more events at once, all files are checked: the inotify queue may have overflowed. */
const MANY_EVENTS = 1000;

/** Options of a `ManifestsSource`. */
export interface ManifestsOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly log: FileLog;
  /** Endpoints in these ranges are rejected. */
  readonly clusterSetCidrs?: readonly Cidr[];
  /** Source of file events; default inotify. */
  readonly watch?: WatchDirectory;
}

/**
 * ServiceImports, EndpointSlices and ClusterProperties from the files of a directory. See README.md.
 *
 * A pass is synchronous, so that passes do not overlap and each sees a consistent directory.
 */
export class ManifestsSource implements Source {
  readonly name = "manifests";
  readonly #clock: Clock;
  readonly #directory: string;
  readonly #broken: BrokenFiles;
  readonly #watch: DirectoryWatch;
  readonly #files: ManifestFiles;
  readonly #index = new ObjectIndex();
  /** Undefined unless running. */
  #events: SourceEvents | undefined;
  #tables: FactTables | undefined;
  #listed = false;
  /** When unread files stop delaying `listed`, by the clock; undefined before the directory was read. */
  #unreadUntil: number | undefined;
  #pending = noEvents();
  #soon: NodeJS.Immediate | undefined;
  #later: Cancel | undefined;
  /** When all files are checked again, by the clock. */
  #nextResync = Number.NEGATIVE_INFINITY;
  #mistake: Mistake | undefined;

  constructor(options: ManifestsOptions) {
    this.#clock = options.clock;
    this.#directory = options.directory;
    this.#broken = new BrokenFiles(options.log);
    const watch = options.watch ?? watchDirectory;
    this.#watch = new DirectoryWatch(options.directory, watch, (event, name) => {
      this.#record(event, name);
    });
    this.#files = new ManifestFiles(options.directory, options.clusterSetCidrs ?? []);
  }

  /** The files (and the directory, by its path) whose current content is not used. */
  brokenFiles(): readonly FileError[] {
    return this.#broken.list();
  }

  start(events: SourceEvents): void {
    this.#events = events;
    this.#tables = factTables(events);
    this.#soon = setImmediate(() => this.#pass());
  }

  async stop(): Promise<void> {
    this.#events = undefined;
    clearImmediate(this.#soon);
    this.#later?.();
    this.#watch.close();
  }

  /** The events of one change arrive together: the pass waits until all are recorded. */
  #record(event: FileEvent, name: string | null): void {
    const pending = this.#pending;
    pending.since ??= this.#clock.now();
    if (name === null) this.#nextResync = Number.NEGATIVE_INFINITY;
    else if (!isManifestName(name)) pending.others = true;
    else pending.events.set(name, event);
    this.#soon ??= setImmediate(() => this.#pass());
  }

  #pass(): void {
    const events = this.#events;
    const tables = this.#tables;
    if (events === undefined || tables === undefined) return;
    clearImmediate(this.#soon);
    this.#soon = undefined;
    this.#later?.();
    const now = this.#clock.now();
    const pending = this.#pending;
    this.#pending = noEvents();
    const names = this.#namesToCheck(pending, now);
    this.#mistake = names.mistake;
    if (names.mistake !== undefined) this.#nextResync = now + RETRY_MS;
    else {
      const changes = this.#files.look(names.value, pending.events, now);
      this.#index.update(changes, tables, pending.since ?? now);
    }
    this.#reportErrors();
    if (names.mistake === undefined && !this.#listed) this.#list(events, now);
    this.#passLater(names.mistake === undefined);
  }

  /** Reports that everything is listed, unless a file is still to be read. */
  #list(events: SourceEvents, now: number): void {
    this.#unreadUntil ??= now + UNREAD_MS;
    const unread = this.#files.unread();
    if (unread.length > 0 && now < this.#unreadUntil) {
      this.#nextResync = Math.min(now + RETRY_MS, this.#unreadUntil);
      return;
    }
    if (unread.length > 0) this.#broken.ignored(unread);
    this.#listed = true;
    events.listed();
  }

  /** Names to check after events, settling or a resync. */
  #namesToCheck(pending: Pending, now: number): Outcome<ReadonlySet<string>> {
    const renewed = this.#watch.renew();
    if (renewed.mistake !== undefined) return renewed;
    const isStorm = pending.events.size > MANY_EVENTS;
    // After a failure, any file may have changed.
    if (isStorm || renewed.value || this.#mistake !== undefined || now >= this.#nextResync) {
      const listed = this.#watch.list();
      if (listed.mistake !== undefined) return listed;
      this.#nextResync = now + RESYNC_MS;
      return { value: new Set([...listed.value, ...this.#files.names()].sort()) };
    }
    const names = new Set([...pending.events.keys(), ...this.#files.rested(now)]);
    // Such as `..data`, the link behind all files of a mounted ConfigMap.
    if (pending.others) for (const name of this.#files.links()) names.add(name);
    return { value: names };
  }

  #passLater(readable: boolean): void {
    if (this.#events === undefined) return;
    const rest = readable ? this.#files.nextRest() : undefined;
    const next = Math.min(this.#nextResync, rest ?? Number.POSITIVE_INFINITY);
    this.#later = this.#clock.after(Math.max(0, next - this.#clock.now()), () => this.#pass());
  }

  #reportErrors(): void {
    const mistake = this.#mistake ?? this.#watch.unwatched;
    const own = mistake === undefined ? [] : [{ file: this.#directory, ...mistake }];
    this.#broken.replace([...own, ...this.#files.errors()]);
  }
}

/** Events since the last pass. */
interface Pending {
  /** The last event of each manifest, by name. */
  readonly events: Map<string, FileEvent>;
  /** Something else changed in the directory. */
  others: boolean;
  /** Time of the first event, by the clock. */
  since: number | undefined;
}

function noEvents(): Pending {
  return { events: new Map(), others: false, since: undefined };
}

/** The log of file errors. */
type FileLog = Pick<Logger, "info" | "warn">;

/** The current errors of files. Logs each change once. */
class BrokenFiles {
  readonly #log: FileLog;
  #errors: ReadonlyMap<string, FileError> = new Map();

  constructor(log: FileLog) {
    this.#log = log;
  }

  list(): readonly FileError[] {
    return [...this.#errors.values()];
  }

  /** Files that were not read in time at a start: their objects count as deleted. */
  ignored(files: readonly string[]): void {
    const fields = { reason: "unreadable", files: files.length, file: files[0] };
    this.#log.warn("Manifests are still not readable; continuing without them", fields);
  }

  /** `errors`: all current ones, at most one per file. */
  replace(errors: readonly FileError[]): void {
    const before = this.#errors;
    this.#errors = new Map(errors.map((error) => [error.file, error]));
    for (const error of errors) {
      if (isDeepStrictEqual(error, before.get(error.file))) continue;
      const { fault, ...fields } = error;
      this.#log.warn(messageOf(fault), { reason: fault, ...fields });
    }
    for (const { file, fault } of before.values()) {
      if (!this.#errors.has(file))
        this.#log.info("Manifest is valid again", { reason: fault, file });
    }
  }
}

function messageOf(fault: FileFault): string {
  if (fault === "unwatched") return "Watching manifests failed; checking them periodically";
  return "Manifest is not usable; using its last valid content";
}
