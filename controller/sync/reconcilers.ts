import { CONTROLLER_NAME } from "../../api/keys.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import {
  CLUSTER_PROPERTIES,
  ENDPOINT_SLICES,
  IP_ADDRESSES,
  SERVICE_EXPORTS,
  SERVICE_IMPORTS,
} from "../../common/kubernetes/kinds.ts";
import type { ApiResource } from "../../common/kubernetes/resource.ts";
import { ApiWriter } from "../../common/kubernetes/writer.ts";
import { Slots } from "../../common/queue/slots.ts";
import type { ImportFact } from "../model/facts.ts";
import type { Dirty, TaskKind } from "../model/task.ts";
import { exportingNamespace } from "../registry/names.ts";
import type { Member } from "../stores/member.ts";
import { Applier, type ApplierOptions } from "./applier.ts";
import { ClusterProperties } from "./cluster-properties.ts";
import type { ControllerOptions } from "./controller-options.ts";
import { EventRecorder } from "./event-recorder.ts";
import type { ExportCompleteness } from "./export-completeness.ts";
import { ExportStatus } from "./export-status.ts";
import { exportedService } from "./exported-service.ts";
import { Exporter, type ExporterOptions } from "./exporter.ts";
import { Failover, type FailoverOptions } from "./failover.ts";
import type { IdentitySource } from "./identity-source.ts";
import type { ImportedBefore } from "./imported-before.ts";
import { Importer } from "./importer.ts";
import type { LeaseRenewer } from "./lease-renewer.ts";
import type { LocalCluster } from "./local-cluster.ts";
import { LocalExports } from "./local-exports.ts";
import type { Members } from "./members.ts";
import { NearestEvents } from "./nearest-events.ts";
import { StartupTaints } from "./startup-taints.ts";
import { VipAddresses } from "./vip-addresses.ts";
import type { WritePermission } from "./write-permission.ts";

/** Writes in progress per API server, 16 of one namespace: more cost memory for connections (15 MB at a hundred) and save no time. */
const AT_ONCE = 20;

/** Dependencies of `Reconcilers`. */
export interface ReconcilersOptions extends ControllerOptions {
  readonly local: LocalCluster;
  /** The local cluster's registry. */
  readonly member: Member;
  readonly before: ImportedBefore;
  readonly members: Members;
  readonly renewer: Pick<LeaseRenewer, "isElsewhere" | "isRegistered" | "rejection">;
  readonly completeness: ExportCompleteness;
  /** True for an export that is missing, and whose absence is unconfirmed. */
  readonly isUnconfirmed: (key: ObjectKey) => boolean;
  readonly permission: WritePermission;
  readonly source: IdentitySource;
  readonly dirty: Dirty;
  /** The declared endpoint ranges of other clusters. */
  readonly declared: FailoverOptions["declared"];
  readonly accepted: ExporterOptions["accepted"];
}

/** The reconciler of each kind of task, and the names that each has to reconcile. */
export class Reconcilers {
  readonly #options: ReconcilersOptions;
  readonly #exports: LocalExports;
  readonly #exporter: Exporter;
  readonly #importer: Importer;
  readonly #status: ExportStatus;
  readonly #nearest: NearestEvents;
  readonly failover: Failover;
  readonly properties: ClusterProperties;
  readonly taints: StartupTaints;

  constructor(options: ReconcilersOptions) {
    const { clock, config, dirty, events, local, member, members, today } = options;
    const { stores: own } = local;
    const informers = local.informers.byResource;
    this.#options = options;
    const { api, permission, registryApi } = options;
    const slots = new Slots(AT_ONCE);
    const registrySlots = registryApi === api ? slots : new Slots(AT_ONCE);
    const fieldManager = CONTROLLER_NAME;
    const here = new ApiWriter({ ...permission.writing(api), fieldManager, slots });
    const there = new ApiWriter({
      ...permission.writing(registryApi),
      fieldManager,
      slots: registrySlots,
      // A registry is one namespace with the exports of all.
      ownerOf: ({ name }) => exportingNamespace(name),
    });
    const applier = (
      resource: ApiResource,
      writer: ApiWriter,
      store: ApplierOptions["store"],
      informer: ApplierOptions["informer"],
      takesOver = true,
    ) => new Applier({ resource, writer, store, informer, clock, takesOver });
    // They are replaced for each relist.
    const registry = () => member.registry.informers;
    const now = () => today().getTime();
    const recorder = new EventRecorder({ writer: here, clock, today, events });
    const rules = { ...config, own: member.id };
    const exports = new LocalExports({
      own,
      member,
      before: options.before,
      maxRules: config.maxRulesPerCluster,
      published: (slice) => local.hold.published(slice),
      dirty,
    });
    this.#exports = exports;
    this.#exporter = new Exporter({
      own,
      exports,
      accepted: options.accepted,
      member,
      records: applier(SERVICE_IMPORTS, there, member.records, () => registry()?.serviceimports),
      slices: applier(ENDPOINT_SLICES, there, member.slices, () => registry()?.endpointslices),
      today: now,
      dirty,
      events,
    });
    this.#nearest = new NearestEvents(recorder, clock);
    const exported = (key: ObjectKey, seen?: ImportFact) => {
      // What is published stays until it is known that the export is gone.
      const share = options.isUnconfirmed(key) ? undefined : exports.share(key);
      return exportedService(members, key, rules, share, seen);
    };
    const isInRotation = (cluster: string) => members.rotation(cluster).state === "alive";
    this.#importer = new Importer({
      nearest: this.#nearest,
      own,
      vips: new VipAddresses({
        own,
        applier: applier(
          IP_ADDRESSES,
          here,
          own.ipAddresses,
          () => informers.ipaddresses,
          // Services and other programs have IPAddresses, too.
          false,
        ),
        ranges: [...config.clusterSetCidrs, ...config.explicitVipCidrs],
        isServed: () => informers.ipaddresses.state?.reason !== "not-served",
      }),
      imports: applier(
        SERVICE_IMPORTS,
        here,
        own.imports,
        () => informers.serviceimports,
        // Users choose names of imports, too: one that appears is adopted.
        false,
      ),
      slices: applier(ENDPOINT_SLICES, here, own.importedSlices, () => informers.endpointslices),
      addresses: local.addresses,
      exported,
      here: () => {
        const region = members.state(member.id)?.description.current?.region;
        return { cluster: member.id, ...(region !== undefined && { region }) };
      },
      isInRotation,
      isSilent: (cluster) => members.isSilent(cluster),
      explicitVipCidrs: config.explicitVipCidrs,
      today: now,
      recorder,
      dirty,
      events,
    });
    this.failover = new Failover({
      own,
      slices: applier(
        ENDPOINT_SLICES,
        here,
        own.failoverSlices,
        () => informers.endpointslices,
        // They are among the slices of users' Services.
        false,
      ),
      isAllowed: config.clusterIpFailover !== "never",
      exported: (key) => exported(key),
      areAllSynced: (key, service) => this.#importer.areAllSynced(key, service),
      here: () => {
        const { region, properties = {} } = members.state(member.id)?.description.current ?? {};
        return {
          cluster: member.id,
          ...(region !== undefined && { region }),
          properties: new Map(Object.entries(properties)),
        };
      },
      others: () => [...members].flatMap(({ id }) => (id === member.id ? [] : id)),
      declared: options.declared,
      isInRotation,
      recorder,
      clock,
      events,
    });
    this.#status = new ExportStatus({
      own,
      applier: applier(SERVICE_EXPORTS, here, own.exports, () => informers.serviceexports),
      cluster: member.id,
      registry: config.registry,
      outcome: (key) => this.#exporter.outcome(key),
      // Conditions of exports report what other clusters can read.
      exported: (key) => exportedService(members, key, rules),
      isComplete: (key, service) => this.#importer.areAllSynced(key, service),
      today: now,
      recorder,
      events,
    });
    this.properties = new ClusterProperties({
      ...options,
      own,
      applier: applier(CLUSTER_PROPERTIES, here, own.properties, () => informers.clusterproperties),
    });
    this.taints = new StartupTaints({
      nodes: local.nodes,
      writer: here,
      ...{ clock, recorder, dirty, events },
      timeout: config.startupTaintSeconds * 1000,
    });
  }

  /** The permission was granted; everything is reconciled next. */
  begin(): void {
    this.properties.begin();
    this.#nearest.forget();
    this.#exports.begin();
  }

  /** A task was queued. */
  due(kind: TaskKind, key: ObjectKey): void {
    if (kind === "export") this.#options.completeness.due(key);
  }

  /** Throws the API server's error. */
  async reconcile(kind: TaskKind, key: ObjectKey): Promise<void> {
    const { completeness, isUnconfirmed, member, renewer } = this.#options;
    switch (kind) {
      case "export":
        if (isUnconfirmed(key)) return;
        if (renewer.isRegistered) {
          // An export that is invalid has no record.
          const lacks = () => this.#exporter.outcome(key)?.valid === "Valid" && member.lacks(key);
          await completeness.publish(key, () => this.#exporter.reconcile(key), lacks);
        } else if (renewer.rejection !== undefined || renewer.isElsewhere || this.#isNew(key)) {
          this.#exporter.postpone(key, renewer.rejection);
        }
        return;
      case "import":
        return this.#importer.reconcile(key);
      case "status":
        return this.#status.reconcile(key);
      case "failover":
        return this.failover.reconcile(key);
      case "property":
        return this.properties.reconcile(namesOf(key).name);
      case "node":
        return this.taints.reconcile(namesOf(key).name);
    }
  }

  /** True for an export without conditions while the registry cannot be listed: other conditions stay meanwhile. */
  #isNew(key: ObjectKey): boolean {
    const { local, member } = this.#options;
    return !member.listed && local.stores.exports.fact(key)?.conditions.length === 0;
  }

  /** Names of ServiceExports. */
  *exports(): Iterable<ObjectKey> {
    for (const { key } of this.#options.local.stores.exports.facts()) yield key;
  }

  /** Names that are or were exported. */
  exported(): Set<ObjectKey> {
    return new Set([...this.exports(), ...this.#options.member.services()]);
  }

  /** Names that are, should be, or were imported. */
  imported(): Set<ObjectKey> {
    const { local, members } = this.#options;
    const names = new Set([...members.services(), ...this.exports()]);
    for (const { key } of local.stores.imports.facts()) names.add(key);
    for (const fact of local.stores.importedSlices.facts()) names.add(fact.import);
    for (const key of local.stores.ipAddresses.groups()) names.add(key);
    for (const key of this.#importer.reserving) names.add(key);
    return names;
  }

  /** Names that were imported from a cluster. */
  *importedFrom(cluster: string): Iterable<ObjectKey> {
    const { importedSlices, imports } = this.#options.local.stores;
    for (const fact of importedSlices.facts()) if (fact.cluster === cluster) yield fact.import;
    for (const { clusters, key } of imports.facts()) if (clusters.includes(cluster)) yield key;
  }
}
