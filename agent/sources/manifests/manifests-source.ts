import type { Cidr } from "../../../api/cidr.ts";
import type { Cancel, Clock } from "../../../common/clock.ts";
import type { Source, SourceEvents } from "../source.ts";
import { BrokenFiles, type FileLog } from "./broken-files.ts";
import { DirectoryWatch, type WatchDirectory, watchDirectory } from "./directory-watch.ts";
import { isManifestName, ManifestFiles } from "./manifest-files.ts";
import type { FileError, Mistake, Outcome } from "./mistake.ts";
import { type Delta, ObjectIndex } from "./object-index.ts";
import type { FileEvent } from "./settling.ts";

/** Milliseconds between looks at files that no event named: what inotify misses is found by then. */
export const NET_MS = 5000;
/** Milliseconds between looks for a directory that is not there. */
export const RETRY_MS = 500;
/**
 * Files that such a look goes through at most, about 4 us each; a larger directory takes several. So many
 * files named by events at once mean that the kernel's queue may have overflowed, which Node does not tell.
 */
const MOST_AT_ONCE = 1000;

/** What a `ManifestsSource` is made of. */
export interface ManifestsOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly log: FileLog;
  /** Ranges that no endpoint may lie in. */
  readonly clusterSetCidrs?: readonly Cidr[];
  /** Files at most in one look that no event asked for; 1,000 unless a test says otherwise. */
  readonly mostAtOnce?: number;
  /** Where events come from; inotify unless a test says otherwise. */
  readonly watch?: WatchDirectory;
}

/**
 * ServiceImports, EndpointSlices and ClusterProperties out of the YAML and JSON files of a directory (`--manifests DIR`), for
 * as long as it runs. README.md says what is read when.
 *
 * All work is done in passes: an event or a timer makes one due, and it runs to its end without a pause, so
 * that no two overlap and each sees one moment of the directory. File access is synchronous for that reason.
 */
export class ManifestsSource implements Source {
  readonly name = "manifests";
  readonly #clock: Clock;
  readonly #directory: string;
  readonly #mostAtOnce: number;
  readonly #broken: BrokenFiles;
  readonly #watch: DirectoryWatch;
  readonly #files: ManifestFiles;
  readonly #index = new ObjectIndex();
  readonly #properties = new Map<string, string>();
  /** Undefined unless it runs. */
  #events: SourceEvents | undefined;
  #listed = false;
  #pending = noEvents();
  #soon: NodeJS.Immediate | undefined;
  #later: Cancel | undefined;
  /** The next pass must look at everything there is. */
  #stale = true;
  #nextNet = 0;
  #mistake: Mistake | undefined;

  constructor(options: ManifestsOptions) {
    this.#clock = options.clock;
    this.#directory = options.directory;
    this.#mostAtOnce = options.mostAtOnce ?? MOST_AT_ONCE;
    this.#broken = new BrokenFiles(options.log);
    const watch = options.watch ?? watchDirectory;
    this.#watch = new DirectoryWatch(options.directory, watch, (event, name) => {
      this.#note(event, name);
    });
    this.#files = new ManifestFiles(options.directory, options.clusterSetCidrs ?? []);
  }

  /** The files, and the directory under its path, that could not be taken as they stand as of now. */
  brokenFiles(): readonly FileError[] {
    return this.#broken.list();
  }

  start(events: SourceEvents): void {
    this.#events = events;
    this.#soon = setImmediate(() => this.#pass());
  }

  async stop(): Promise<void> {
    this.#events = undefined;
    clearImmediate(this.#soon);
    this.#later?.();
    this.#watch.close();
  }

  /** The kernel gives the events of one change at once: the pass waits until they are all noted. */
  #note(event: FileEvent, name: string | null): void {
    const pending = this.#pending;
    pending.since ??= this.#clock.now();
    if (name === null) this.#stale = true;
    else if (!isManifestName(name)) pending.others = true;
    else pending.events.set(name, event);
    this.#soon ??= setImmediate(() => this.#pass());
  }

  #pass(): void {
    const events = this.#events;
    if (events === undefined) return;
    clearImmediate(this.#soon);
    this.#soon = undefined;
    this.#later?.();
    const now = this.#clock.now();
    const pending = this.#pending;
    this.#pending = noEvents();
    const names = this.#namesToLookAt(pending, now);
    this.#mistake = names.mistake;
    if (names.mistake !== undefined) this.#nextNet = now + RETRY_MS;
    else {
      const changes = this.#files.look(names.value, pending.events, now);
      const delta = this.#index.update(changes);
      tell(delta, pending.since ?? now, events);
      if (follow(delta, this.#properties)) {
        events.propertiesChanged(new Map(this.#properties), pending.since ?? now);
      }
    }
    this.#tellErrors();
    if (names.mistake === undefined && !this.#listed) {
      this.#listed = true;
      events.listed();
    }
    this.#passLater(names.mistake === undefined);
  }

  /** Names that an event, a rest that is over, or the net gives reason to look at. */
  #namesToLookAt(pending: Pending, now: number): Outcome<ReadonlySet<string>> {
    const renewed = this.#watch.renew();
    if (renewed.mistake !== undefined) return renewed;
    this.#stale ||= renewed.value || pending.events.size > this.#mostAtOnce;
    const names = new Set([...pending.events.keys(), ...this.#files.rested(now)]);
    // Such as `..data`, through which all files of a mounted ConfigMap lead.
    if (pending.others) for (const name of this.#files.links()) names.add(name);
    if (!this.#stale && now < this.#nextNet) return { value: names };
    const listed = this.#watch.list();
    this.#stale ||= listed.mistake !== undefined;
    if (listed.mistake !== undefined) return listed;
    this.#nextNet = now + NET_MS;
    const all = this.#stale;
    this.#stale = false;
    const there = new Set(listed.value);
    const known = this.#files.names();
    if (all) return { value: new Set([...there, ...known].sort()) };
    const gone = known.filter((name) => !there.delete(name));
    const net = [...there, ...gone, ...this.#files.links(), ...known.slice(0, this.#mostAtOnce)];
    for (const name of net) names.add(name);
    return { value: names };
  }

  #passLater(readable: boolean): void {
    if (this.#events === undefined) return;
    const rest = readable ? this.#files.nextRest() : undefined;
    const next = Math.min(this.#nextNet, rest ?? Number.POSITIVE_INFINITY);
    this.#later = this.#clock.after(Math.max(0, next - this.#clock.now()), () => this.#pass());
  }

  #tellErrors(): void {
    const mistake = this.#mistake ?? this.#watch.unwatched;
    const own = mistake === undefined ? [] : [{ file: this.#directory, ...mistake }];
    this.#broken.replace([...own, ...this.#files.errors()]);
  }
}

/** What the kernel said since the last pass. */
interface Pending {
  /** Of manifests, by name, the last one: what was written to before a renaming is no longer there. */
  readonly events: Map<string, FileEvent>;
  /** Something else changed in the directory. */
  others: boolean;
  /** When the first event came, by the clock. */
  since: number | undefined;
}

function noEvents(): Pending {
  return { events: new Map(), others: false, since: undefined };
}

function tell(delta: Delta, at: number, events: SourceEvents): void {
  for (const { object, problems } of delta.problems) events.problems(object, problems);
  for (const { kind, fact } of delta.changed) {
    if (kind === "ServiceImport") events.importChanged(fact, at);
    else if (kind === "EndpointSlice") events.sliceChanged(fact, at);
  }
  for (const { kind, fact } of delta.removed) {
    if (kind === "ServiceImport") events.importRemoved(fact.key, at);
    else if (kind === "EndpointSlice") events.sliceRemoved(fact.key, at);
  }
}

/** Keeps `properties` as the ClusterProperties say that they are; true if any of them has changed. */
function follow(delta: Delta, properties: Map<string, string>): boolean {
  let changed = false;
  for (const { kind, fact } of delta.changed) {
    if (kind !== "ClusterProperty") continue;
    properties.set(fact.name, fact.value);
    changed = true;
  }
  for (const { kind, fact } of delta.removed) {
    if (kind === "ClusterProperty") changed = properties.delete(fact.name) || changed;
  }
  return changed;
}
