import type { Cidr } from "../../api/cidr.ts";
import { namesOf, type ObjectKey, objectKey } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import type { Problem } from "../../api/problem.ts";
import type { StoreQuota } from "../../api/store-quota.ts";
import type { Clock } from "../../common/clock.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import { type ClusterClaim, clusterClaimOf } from "../identity/cluster-claim.ts";
import type { ClusterFact, ExportRecord, SliceFact } from "../model/facts.ts";
import { type PeerScope, UNLIMITED } from "../model/peer-scope.ts";
import type { Dirty, TaskKind } from "../model/task.ts";
import { decodeCluster } from "../registry/decode-cluster.ts";
import { decodeRecord, decodeSlice } from "../registry/decode-record.ts";
import { LEASE_NAME, recordName, serviceOfRecord, serviceOfSlice } from "../registry/names.ts";
import type { Registry } from "../registry/validate-metadata.ts";
import { type Change, FactStore } from "./fact-store.ts";
import type { Follow, Sink } from "./informer.ts";
import { RegistryInformers } from "./registry-informers.ts";
import { RegistryQuotas } from "./registry-quotas.ts";

/** The Lease of a registry. */
export interface RegistryLeaseFact {
  readonly claim: ClusterClaim;
  /** Absent if the Lease does not describe this cluster. */
  readonly cluster?: ClusterFact;
}

/** What a `Member` reports. */
export interface MemberEvents {
  /** Tasks that depend on a record or a slice. */
  readonly dirty: Dirty;
  /** What decides its state has changed: its Lease, or how its registry is read. */
  changed(): void;
  state(resource: string, state: ReflectorState): void;
  problems(object: string, problems: readonly Problem[]): void;
}

/** Dependencies of a `Member`. */
export interface MemberOptions {
  /** Cluster ID as the operator configured it. */
  readonly id: string;
  /** Namespace of its registry. */
  readonly namespace: string;
  /** True for the local cluster, which writes this registry. */
  readonly isOurs: boolean;
  readonly clusterSetCidrs: readonly Cidr[];
  /** Limit of what its slices cost a node: endpoints times ports. */
  readonly maxRules: number;
  readonly clock: Clock;
  /** True while a name that its registry lacks is known not to be exported. */
  readonly isConfirmed: (service: ObjectKey) => boolean;
  readonly events: MemberEvents;
}

/** One cluster of the clusterset, the local one included, as its registry shows it. */
export class Member {
  readonly id: string;
  readonly namespace: string;
  readonly isOurs: boolean;
  /** By exported Service. */
  readonly records: FactStore<ExportRecord>;
  /** By exported Service. */
  readonly slices: FactStore<SliceFact>;
  readonly leases: FactStore<RegistryLeaseFact>;
  readonly #options: MemberOptions;
  readonly #quotas: RegistryQuotas;
  /** Its informers. */
  readonly registry: RegistryInformers;
  #scope = UNLIMITED;
  /** Names that were exported before a restart, until everything was listed. */
  #before: readonly ObjectKey[] = [];
  #listed = false;
  #rewinds = 0;

  constructor(options: MemberOptions) {
    const { id, namespace, events, maxRules } = options;
    this.#options = options;
    this.id = id;
    this.namespace = namespace;
    this.isOurs = options.isOurs;
    const quotas = new RegistryQuotas({
      namespace,
      maxRules,
      problems: events.problems.bind(events),
      relist: () => this.registry.relist(),
    });
    this.#quotas = quotas;
    this.records = this.#newStore<ExportRecord>({
      parse: (object) => decodeRecord(object, this.#place()),
      dirties: ["import", "status"],
      serviceOf: serviceOfRecord,
      quota: quotas.records,
    });
    this.slices = this.#newStore<SliceFact>({
      parse: (object) => decodeSlice(object, this.#place()),
      dirties: ["import"],
      serviceOf: serviceOfSlice,
      quota: quotas.slices,
    });
    this.leases = new FactStore({
      parse: (object) => parseLease(object, this.#place()),
      written: true,
      changed: () => events.changed(),
      problems: (object, problems) => events.problems(object, problems),
    });
    this.registry = this.#newInformers();
  }

  /** True once everything was listed since the process started, even if the connection is lost now. */
  get listed(): boolean {
    return this.#listed;
  }

  /** How often the API server's state was older than before: then the registry may show an old state. */
  get rewinds(): number {
    return this.#rewinds;
  }

  /** Names that were exported before a restart, and have no record since. */
  get lacking(): ReadonlySet<ObjectKey> {
    return new Set(this.#before.filter((one) => !this.records.has(this.recordKey(one))));
  }

  get lease(): RegistryLeaseFact | undefined {
    return this.leases.fact(`${this.namespace}/${LEASE_NAME}`);
  }

  /** The stored or retained record of an exported Service. */
  record(service: ObjectKey): ExportRecord | undefined {
    return this.records.fact(this.recordKey(service));
  }

  /** The record's key in the registry. */
  recordKey(service: ObjectKey): ObjectKey {
    return objectKey(this.namespace, recordName(service));
  }

  /** True if the registry has no record of a Service, or has lost one of its slices. */
  lacks(service: ObjectKey): boolean {
    const { records, slices } = this;
    const keys = slices.keysOf(service).values();
    return !records.has(this.recordKey(service)) || keys.some((key) => !slices.has(key));
  }

  /** Every name with a record or a slice. */
  services(): Set<ObjectKey> {
    return new Set([...this.records.groups(), ...this.slices.groups()]);
  }

  /**
   * Reads the registry through `follow` from now on. Stored objects stay; those that the new list lacks are removed as
   * after a lost connection. `known`: names that were exported before a restart.
   */
  connect(follow: Follow, scope: PeerScope, known: Iterable<ObjectKey> = []): Promise<void> {
    this.#scope = scope;
    this.#before = [...known];
    return this.registry.connect(follow);
  }

  /** Removes what the last list lacked, and is known not to be exported. */
  removeMissing(): void {
    this.records.removeMissing();
    this.slices.removeMissing();
  }

  stop(): Promise<void> {
    return this.registry.stop();
  }

  #newStore<Fact>(kind: {
    /** Tasks that depend on an object, besides the export by the local cluster. */
    readonly dirties: readonly TaskKind[];
    readonly parse: (object: unknown) => Parsed<Fact>;
    readonly serviceOf: (name: string) => ObjectKey | undefined;
    readonly quota: StoreQuota<Fact>;
  }): FactStore<Fact> {
    const { dirties, parse, serviceOf, quota } = kind;
    const { events, isConfirmed, isOurs } = this.#options;
    return new FactStore<Fact>({
      parse,
      written: isOurs,
      groupOf: (key) => serviceOf(namesOf(key).name),
      quota,
      isGone: (service) => service === undefined || isConfirmed(service),
      changed: (change) => this.#changed(dirties, change),
      problems: events.problems.bind(events),
    });
  }

  #changed(dirties: readonly TaskKind[], { group: service, isOwnWrite }: Change<unknown>): void {
    if (service === undefined) return;
    const { events, isOurs } = this.#options;
    if (isOurs && !isOwnWrite) events.dirty("export", service);
    for (const kind of dirties) events.dirty(kind, service);
  }

  #newInformers(): RegistryInformers {
    const { clock, namespace, events } = this.#options;
    const { records, slices, leases } = this;
    let recorded: string[] = [];
    return new RegistryInformers({
      namespace,
      clock,
      sinks: {
        serviceimports: {
          sink: records,
          known: () => new Set([...recorded, ...records.known()]),
        },
        endpointslices: { sink: slices, known: () => new Set(slices.known()) },
        leases: { sink: onlyTheLease(leases), known: () => leases.keys() },
      },
      begins: () => {
        recorded = this.#before.map((key) => this.recordKey(key));
        if (this.#listed) this.#before = [];
        this.#quotas.begin();
      },
      listed: () => this.#complete(),
      state: (resource, state) => {
        events.state(resource, state);
        if (state.reason === "rewound") this.#rewound();
        events.changed();
      },
      connected: () => events.changed(),
    });
  }

  /** Versions are reused after a restore, so other watches may not notice it: everything is listed again. */
  #rewound(): void {
    this.#rewinds++;
    this.registry.relist();
  }

  #complete(): void {
    const all = this.registry.listed;
    if (all) this.#quotas.end();
    if (this.#listed || !all) return;
    this.#listed = true;
    this.#options.events.changed();
  }

  #place(): Registry {
    const { id: cluster, namespace, clusterSetCidrs } = this.#options;
    return { cluster, namespace, clusterSetCidrs, ...this.#scope };
  }
}

/** A registry may hold other Leases; only one identifies the cluster. */
function onlyTheLease(leases: FactStore<RegistryLeaseFact>): Sink {
  return {
    changed: (key, object) => {
      if (namesOf(key).name === LEASE_NAME) leases.changed(key, object);
    },
    removed: (key) => leases.removed(key),
  };
}

function parseLease(object: unknown, registry: Registry): Parsed<RegistryLeaseFact> {
  const { fact: cluster, ...rest } = decodeCluster(object, registry);
  const claim = clusterClaimOf(object);
  return claim === undefined
    ? rest
    : { ...rest, fact: { claim, ...(cluster !== undefined && { cluster }) } };
}
