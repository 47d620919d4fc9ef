import { CONTROLLER_NAME } from "../../api/keys.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Clock } from "../../common/clock.ts";
import { Turn } from "../../common/kubernetes/turn.ts";
import { ApiWriter, type ApiWriterOptions } from "../../common/kubernetes/writer.ts";
import { WorkQueue } from "../../common/queue/work-queue.ts";
import type { ControllerConfig } from "../config/config.ts";
import type { SliceFact } from "../model/facts.ts";
import type { Member } from "../stores/member.ts";
import type { OwnCluster } from "../stores/own-cluster.ts";
import { ENDPOINT_SLICES, SERVICE_EXPORTS, SERVICE_IMPORTS } from "../stores/resources.ts";
import { type Answered, Applier } from "./applier.ts";
import type { ControllerEvents } from "./controller-events.ts";
import { EventRecorder } from "./event-recorder.ts";
import { ExportStatus } from "./export-status.ts";
import { Exporter } from "./exporter.ts";
import { Importer } from "./importer.ts";
import type { Members } from "./members.ts";
import type { Registrar } from "./registrar.ts";
import { partsOf, type Task, type TaskKind } from "./task.ts";
import type { VipBook } from "./vip-book.ts";

/** Names that are worked on at the same time. */
const WORKERS = 16;

/** What `Work` is made of. */
export interface WorkOptions {
  readonly config: Pick<ControllerConfig, "registry">;
  readonly own: OwnCluster;
  readonly member: Member;
  readonly members: Members;
  readonly vips: VipBook;
  /** How our own cluster is written, and how the registry is. */
  readonly ownWriting: Omit<ApiWriterOptions, "fieldManager">;
  readonly registryWriting: Omit<ApiWriterOptions, "fieldManager">;
  /** Where objects of our own cluster come from, by resource. */
  readonly feeds: Readonly<
    Record<"endpointslices" | "serviceexports" | "serviceimports", Answered>
  >;
  readonly published: (slice: SliceFact) => SliceFact;
  /** Knows whether records may be published. */
  readonly registrar: Pick<Registrar, "isElsewhere" | "isRegistered">;
  readonly clock: Clock;
  readonly random: () => number;
  readonly today: () => Date;
  readonly events: ControllerEvents;
}

/** Everything that is done about names, one name at a time, while it may be done. */
export class Work {
  readonly #options: WorkOptions;
  readonly #queue: WorkQueue<Task>;
  readonly #exporter: Exporter;
  readonly #importer: Importer;
  readonly #status: ExportStatus;
  readonly #turn: Turn;
  #allowed = false;

  constructor(options: WorkOptions) {
    const { clock, config, events, feeds, member, members, own, random, today } = options;
    this.#options = options;
    this.#turn = new Turn(clock);
    const here = new ApiWriter({ ...options.ownWriting, fieldManager: CONTROLLER_NAME });
    const there = new ApiWriter({ ...options.registryWriting, fieldManager: CONTROLLER_NAME });
    const now = () => today().getTime();
    const recorder = new EventRecorder({
      writer: here,
      today,
      failed: (thrown) => events.eventFailed(thrown),
    });
    this.#exporter = new Exporter({
      own,
      member,
      records: new Applier({
        resource: SERVICE_IMPORTS,
        writer: there,
        feed: () => member.feeds?.serviceimports,
      }),
      slices: new Applier({
        resource: ENDPOINT_SLICES,
        writer: there,
        feed: () => member.feeds?.endpointslices,
      }),
      published: options.published,
      outcome: (key) => this.add("status", key),
      problems: (object, problems) => events.problems(undefined, object, problems),
    });
    this.#importer = new Importer({
      own,
      imports: new Applier({
        resource: SERVICE_IMPORTS,
        writer: here,
        feed: () => feeds.serviceimports,
      }),
      slices: new Applier({
        resource: ENDPOINT_SLICES,
        writer: here,
        feed: () => feeds.endpointslices,
      }),
      vips: options.vips,
      exports: (key) => members.exportsOf(key),
      isHeard: (cluster) => members.isHeard(cluster),
      allHeard: () => members.allHeard(),
      isStale: (cluster) => members.sight(cluster)?.state === "stale",
      problems: (cluster, object, problems) => events.problems(cluster, object, problems),
      today: now,
      news: (object, news) => recorder.tell(SERVICE_IMPORTS, object, news),
      imported: (key, wanted) => events.imported(key, wanted),
    });
    this.#status = new ExportStatus({
      own,
      exports: new Applier({
        resource: SERVICE_EXPORTS,
        writer: here,
        feed: () => feeds.serviceexports,
      }),
      registry: config.registry,
      outcome: (key) => this.#exporter.outcome(key),
      merged: (key) => members.exportsOf(key).merged,
      isComplete: () => members.allHeard(),
      today: now,
      news: (object, news) => recorder.tell(SERVICE_EXPORTS, object, news),
      claimed: (key, claims) => events.claimed(key, claims),
    });
    this.#queue = new WorkQueue<Task>({
      reconcile: (task) => this.#do(task),
      workers: WORKERS,
      clock,
      random,
      events: {
        done: (task, waited, took) => {
          const { kind, key } = partsOf(task);
          events.done(kind, key, waited, took);
        },
        failed: (task, thrown, failures, wait) => {
          const { kind, key } = partsOf(task);
          events.failed(kind, key, thrown, failures, wait);
        },
      },
    });
  }

  /** The queue, to be looked at. */
  get queue(): Pick<WorkQueue<Task>, "depth" | "failing" | "oldest" | "working"> {
    return this.#queue;
  }

  /** Something about a name may be something else. */
  add(kind: TaskKind, key: ObjectKey): void {
    if (this.#allowed) this.#queue.add(`${kind} ${key}`);
  }

  /** It may be written from now on, or not: all that there is is looked at. */
  allow(isAllowed: boolean): void {
    if (this.#allowed === isAllowed) return;
    this.#allowed = isAllowed;
    if (!isAllowed) return;
    this.exportAll();
    this.importAll();
  }

  /** Looks at all that is, or was, exported. */
  exportAll(): void {
    const { own, member } = this.#options;
    for (const { key } of own.exports.facts()) this.add("export", key);
    for (const key of member.services()) this.add("export", key);
  }

  /** Looks at all that is, or was, imported, and at what there is to say of exports. */
  importAll(): void {
    const { own, members } = this.#options;
    const names = members.services();
    for (const { key } of own.imports.facts()) names.add(key);
    for (const fact of own.importedSlices.facts()) names.add(fact.import);
    for (const key of names) this.add("import", key);
    for (const { key } of own.exports.facts()) this.add("status", key);
  }

  /** Looks at all that is imported from a cluster, whatever it exports now. */
  importFrom(cluster: string): void {
    for (const fact of this.#options.own.importedSlices.facts()) {
      if (fact.cluster === cluster) this.add("import", fact.import);
    }
  }

  /** Nothing begins after the call. Settles when what is under way has ended. */
  stop(): Promise<void> {
    this.#allowed = false;
    return this.#queue.stop();
  }

  async #do(task: Task): Promise<void> {
    // Where nothing is to be written, nothing waits either: a thousand names in a row would hold everything up.
    if (this.#turn.over) await this.#turn.pass();
    if (!this.#allowed) return;
    const { kind, key } = partsOf(task);
    switch (kind) {
      case "export":
        if (this.#options.registrar.isRegistered) await this.#exporter.reconcile(key);
        else if (this.#options.registrar.isElsewhere) this.#exporter.postpone(key);
        return;
      case "import":
        return this.#importer.reconcile(key);
      case "status":
        return this.#status.reconcile(key);
    }
  }
}
