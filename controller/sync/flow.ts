import { CONTROLLER_NAME } from "../../api/keys.ts";
import type { ObjectKey } from "../../api/names.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { Slots } from "../../common/queue/slots.ts";
import type { Member } from "../stores/member.ts";
import { ENDPOINT_SLICES, SERVICE_EXPORTS, SERVICE_IMPORTS } from "../stores/resources.ts";
import { Applier } from "./applier.ts";
import type { Completeness } from "./completeness.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { EventRecorder } from "./event-recorder.ts";
import { ExportStatus } from "./export-status.ts";
import { Exporter } from "./exporter.ts";
import type { HomeCluster } from "./home-cluster.ts";
import { Importer } from "./importer.ts";
import type { Members } from "./members.ts";
import type { Registrar } from "./registrar.ts";
import type { TaskKind } from "./task.ts";
import type { Writing } from "./writing.ts";

/**
 * Writes at the same time, for each API server. Names and their slices alone would make it a hundred: 15 MB of TLS connections
 * that memory does not come back from, and nothing is done sooner for it.
 */
const AT_ONCE = 16;

/** What a `Flow` is made of. */
export interface FlowOptions
  extends Pick<ControllerOptions, "clock" | "config" | "events" | "today"> {
  readonly home: HomeCluster;
  /** We, as our registry shows us. */
  readonly member: Member;
  readonly members: Members;
  /** Knows whether records may be published. */
  readonly registrar: Pick<Registrar, "isElsewhere" | "isRegistered">;
  readonly completeness: Completeness;
  /** True for what is not exported any more as far as is seen, and is not to be withdrawn yet. */
  readonly isDoubted: (key: ObjectKey) => boolean;
  /** How our own cluster is written, and how the registry is. */
  readonly ownWriting: Writing;
  readonly registryWriting: Writing;
  /** What there is to say of an export may be something else. */
  readonly outcome: (key: ObjectKey) => void;
}

/**
 * The two straight lines, and what authors are told:
 *
 *     own cluster -> Exporter -> own registry
 *     registries  -> Importer -> own cluster
 *                 -> ExportStatus -> ServiceExports
 */
export class Flow {
  readonly #options: FlowOptions;
  readonly #exporter: Exporter;
  readonly #importer: Importer;
  readonly #status: ExportStatus;

  constructor(options: FlowOptions) {
    const { clock, config, events, home, member, members, today } = options;
    const { feeds, own } = home;
    this.#options = options;
    const { ownWriting, registryWriting } = options;
    const slots = new Slots(AT_ONCE);
    const theirs = registryWriting.api === ownWriting.api ? slots : new Slots(AT_ONCE);
    const here = new ApiWriter({ ...ownWriting, fieldManager: CONTROLLER_NAME, slots });
    const there = new ApiWriter({
      ...registryWriting,
      fieldManager: CONTROLLER_NAME,
      slots: theirs,
    });
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
        clock,
      }),
      slices: new Applier({
        resource: ENDPOINT_SLICES,
        writer: there,
        feed: () => member.feeds?.endpointslices,
        clock,
      }),
      published: (slice) => home.published(slice),
      outcome: (key) => options.outcome(key),
      problems: (object, problems) => events.problems(undefined, object, problems),
    });
    this.#importer = new Importer({
      own,
      imports: new Applier({
        resource: SERVICE_IMPORTS,
        writer: here,
        feed: () => feeds.serviceimports,
        clock,
      }),
      slices: new Applier({
        resource: ENDPOINT_SLICES,
        writer: here,
        feed: () => feeds.endpointslices,
        clock,
      }),
      vips: home.vips,
      exports: (key) => members.exportsOf(key),
      isStale: (cluster) => members.sight(cluster)?.state === "stale",
      problems: (cluster, object, problems) => events.problems(cluster, object, problems),
      today: now,
      news: (object, news) => recorder.tell(SERVICE_IMPORTS, object, news),
      attributed: (key) => options.outcome(key),
      imported: (key, wanted) => events.imported(key, wanted),
    });
    this.#status = new ExportStatus({
      own,
      applier: new Applier({
        resource: SERVICE_EXPORTS,
        writer: here,
        feed: () => feeds.serviceexports,
        clock,
      }),
      registry: config.registry,
      outcome: (key) => this.#exporter.outcome(key),
      exports: (key) => members.exportsOf(key),
      isComplete: (key, exports) => this.#importer.isAllHeard(key, exports),
      today: now,
      news: (object, news) => recorder.tell(SERVICE_EXPORTS, object, news),
      claimed: (key, claims) => events.claimed(key, claims),
    });
  }

  /** What there is of a name is about to be made what it should be. */
  due(kind: TaskKind, key: ObjectKey): void {
    if (kind === "export") this.#options.completeness.due(key);
  }

  /** Makes what there is of a name what it should be. Throws what the API server answered. */
  async reconcile(kind: TaskKind, key: ObjectKey): Promise<void> {
    const { completeness, isDoubted, registrar } = this.#options;
    switch (kind) {
      case "export":
        if (isDoubted(key)) return;
        if (registrar.isRegistered) {
          await completeness.publish(key, () => this.#exporter.reconcile(key));
        } else if (registrar.isElsewhere) this.#exporter.postpone(key);
        return;
      case "import":
        return this.#importer.reconcile(key);
      case "status":
        return this.#status.reconcile(key);
    }
  }

  /** ServiceExports, by name. */
  *exports(): Iterable<ObjectKey> {
    for (const { key } of this.#options.home.own.exports.facts()) yield key;
  }

  /** All that is exported, or has been. */
  exported(): Set<ObjectKey> {
    return new Set([...this.exports(), ...this.#options.member.services()]);
  }

  /** All that is imported, is to be, or has been. */
  imported(): Set<ObjectKey> {
    const { home, members } = this.#options;
    const names = members.services();
    for (const { key } of home.own.imports.facts()) names.add(key);
    for (const fact of home.own.importedSlices.facts()) names.add(fact.import);
    for (const key of this.#importer.reserving) names.add(key);
    return names;
  }

  /** All that is imported from a cluster, whatever it exports now. */
  *importedFrom(cluster: string): Iterable<ObjectKey> {
    for (const fact of this.#options.home.own.importedSlices.facts()) {
      if (fact.cluster === cluster) yield fact.import;
    }
  }
}
