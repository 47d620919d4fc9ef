import type { Cidr } from "../../api/cidr.ts";
import { type ObjectKey, objectKey } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { Problem } from "../../api/problem.ts";
import type { Clock } from "../../common/clock.ts";
import type { ReflectorState } from "../../common/kubernetes/reflector-events.ts";
import { type LeaseClaim, leaseClaimOf } from "../identity/lease-claim.ts";
import { Assurance } from "../liveness/assurance.ts";
import type { ClusterFact, ExportRecord, SliceFact } from "../model/facts.ts";
import { decodeCluster } from "../registry/decode-cluster.ts";
import { decodeRecord } from "../registry/decode-record.ts";
import { decodeSlice } from "../registry/decode-slice.ts";
import { LEASE_NAME, recordName, serviceOfRecord, serviceOfSlice } from "../registry/names.ts";
import type { Registry } from "../registry/registry.ts";
import { FactStore } from "./fact-store.ts";
import type { Follow, Sink } from "./feed.ts";
import { MissedFacts } from "./missed-facts.ts";
import { RegistryAllowance } from "./registry-allowance.ts";
import { RegistryReading } from "./registry-reading.ts";

/** The Lease of a registry. */
export interface LeaseSight {
  readonly claim: LeaseClaim;
  /** What it says of the cluster, if that is to be believed. */
  readonly cluster?: ClusterFact;
}

/** Who is told what may have to be done because of a change in a registry. */
export interface MemberTold {
  /** What the cluster exports by this name may be something else. */
  exported(service: ObjectKey): void;
  /** The Lease has changed. */
  lease(sight: LeaseSight | undefined): void;
  /** All of it has been listed, for the first time. */
  listed(): void;
  /** It is heard from now on, or not: `Member.isHeard`. */
  heard(): void;
  state(resource: string, state: ReflectorState): void;
  problems(object: string, problems: readonly Problem[]): void;
}

/** What a `Member` is made of. */
export interface MemberOptions {
  /** Id of the cluster, as an operator says it. */
  readonly id: string;
  /** Where its registry is. */
  readonly namespace: string;
  /** True for our own registry: we write what is in there. */
  readonly isOurs: boolean;
  readonly clusterSetCidrs: readonly Cidr[];
  readonly clock: Clock;
  readonly told: MemberTold;
}

/** A cluster of the clusterset, ourselves included, as its registry shows it. */
export class Member {
  readonly id: string;
  readonly namespace: string;
  /** By exported Service. */
  readonly records: FactStore<ExportRecord>;
  /** By exported Service. */
  readonly slices: FactStore<SliceFact>;
  readonly leases: FactStore<LeaseSight>;
  readonly #options: MemberOptions;
  readonly #assurance: Assurance;
  readonly #allowance: RegistryAllowance;
  readonly #missed: {
    readonly records: MissedFacts<ExportRecord>;
    readonly slices: MissedFacts<SliceFact>;
  };
  #endpointCidrs: readonly Cidr[] = [];
  readonly #reading: RegistryReading;
  /** Names that it exported before we began, until all has been listed. */
  #before: readonly ObjectKey[] = [];
  #listed = false;
  #wasHeard = false;

  constructor(options: MemberOptions) {
    const { clock, id, isOurs, namespace, told } = options;
    this.#options = options;
    this.id = id;
    this.namespace = namespace;
    this.#assurance = new Assurance(clock, () => this.#assured());
    this.#allowance = new RegistryAllowance(() => this.#reading.again());
    const allowance = this.#allowance;
    const room = allowance.room.bind(allowance);
    const problems = told.problems.bind(told);
    const changed = (_key: string, _fact: unknown, _before: unknown, service?: string): void => {
      if (service !== undefined) told.exported(keyOf(service));
    };
    this.records = new FactStore<ExportRecord>({
      parse: (object) => decodeRecord(object, this.#registry()),
      written: isOurs,
      groupOf: (key) => serviceOfRecord(nameOf(key)),
      allowance: {
        allowance: allowance.records,
        faults: allowance.faults.records,
        of: `all ServiceImports of ${namespace}`,
      },
      told: { changed, problems, room },
    });
    this.slices = new FactStore<SliceFact>({
      parse: (object) => decodeSlice(object, this.#registry()),
      written: isOurs,
      groupOf: (key) => serviceOfSlice(nameOf(key)),
      allowance: {
        allowance: allowance.slices,
        faults: allowance.faults.slices,
        of: `all EndpointSlices of ${namespace}`,
      },
      told: { changed, problems, room },
    });
    const isGone = () => this.isAssured;
    this.#missed = {
      records: new MissedFacts({
        store: this.records,
        groupOf: (key) => serviceOfRecord(nameOf(key)),
        allowance: allowance.records,
        isGone,
      }),
      slices: new MissedFacts({
        store: this.slices,
        groupOf: (key) => serviceOfSlice(nameOf(key)),
        allowance: allowance.slices,
        isGone,
      }),
    };
    this.leases = new FactStore({
      parse: (object) => parseLease(object, this.#registry()),
      written: true,
      told: {
        changed: (key, sight) => {
          if (nameOf(key) !== LEASE_NAME) return;
          told.lease(sight);
          this.#assurance.renewed(sight?.cluster);
        },
        problems,
      },
    });
    this.#reading = this.#newReading();
  }

  /** True once all of it has been listed since we began, whatever has become of the connection. */
  get listed(): boolean {
    return this.#listed;
  }

  /** True while changes of all of it arrive. */
  get isWatched(): boolean {
    return this.#reading.isWatched;
  }

  /** True while what it lacks is not exported: its cluster says so. What a list lacks else is only missed. */
  get isAssured(): boolean {
    return this.#assurance.isGiven;
  }

  /** True if it is known what is exported, and so what is not. */
  get isHeard(): boolean {
    return this.#listed && this.#assurance.wasGiven && !this.isRewound;
  }

  /** True if what it holds may be what was true long ago: nothing of it is to be believed. */
  get isRewound(): boolean {
    return this.#assurance.isRewound;
  }

  /** What its Lease says. */
  get lease(): LeaseSight | undefined {
    return this.leases.fact(`${this.namespace}/${LEASE_NAME}`);
  }

  /** The feeds of its registry; undefined before it is connected. */
  get feeds(): RegistryReading["feeds"] {
    return this.#reading.feeds;
  }

  /** What it exports by this name, as far as is known. */
  record(service: ObjectKey): ExportRecord | undefined {
    return this.records.fact(this.recordKey(service)) ?? this.#missed.records.factsOf(service)[0];
  }

  /** The slices of that, as far as is known. */
  slicesOf(service: ObjectKey): SliceFact[] {
    return this.#missed.slices.factsOf(service);
  }

  /** The record's key in the registry. */
  recordKey(service: ObjectKey): ObjectKey {
    return objectKey(this.namespace, recordName(service));
  }

  /** Every name that it exports, or has left slices of. */
  services(): Set<ObjectKey> {
    const { records, slices } = this.#missed;
    return new Set([...records.groups(), ...slices.groups()].map(keyOf));
  }

  /**
   * Reads the registry from now on by way of `follow`, and no more as before. What is known stays, and what is not there
   * any more goes as after a break. `known`: names that it exported before we began.
   */
  connect(
    follow: Follow,
    endpointCidrs: readonly Cidr[],
    known: Iterable<ObjectKey> = [],
  ): Promise<void> {
    this.#endpointCidrs = endpointCidrs;
    this.#before = [...known];
    return this.#reading.connect(follow);
  }

  /**
   * The API server is older than it was. All is listed anew, and told again: of those who watch, not everybody may notice,
   * since versions are given twice.
   */
  rewound(): void {
    this.#assurance.rewound();
    this.#reading.again();
  }

  /** Reads no more. */
  stop(): Promise<void> {
    return this.#reading.stop();
  }

  #newReading(): RegistryReading {
    const { clock, namespace, told } = this.#options;
    const { records, slices, leases } = this;
    let recorded: string[] = [];
    return new RegistryReading({
      namespace,
      clock,
      readers: {
        serviceimports: {
          sink: this.#missed.records,
          known: () => new Set([...recorded, ...records.keys()]),
        },
        endpointslices: { sink: this.#missed.slices, known: () => slices.keys() },
        leases: { sink: onlyTheLease(leases), known: () => leases.keys() },
      },
      told: {
        begins: () => {
          recorded = this.#before.map((key) => this.recordKey(key));
          if (this.#listed) this.#before = [];
          this.#allowance.begin(recorded.filter((key) => records.fact(key) === undefined));
        },
        listed: () => this.#complete(),
        state: (resource, state) => {
          told.state(resource, state);
          if (state.reason === "rewound") this.rewound();
          else this.#connected();
        },
        connected: () => this.#connected(),
      },
    });
  }

  #connected(): void {
    this.#assurance.connected(this.isWatched);
    this.#hear();
  }

  /** What was missed is gone. */
  #assured(): void {
    const { records, slices } = this.#missed;
    const services = new Set([...records.release(), ...slices.release()]);
    for (const service of services) this.#options.told.exported(keyOf(service));
    if (services.size > 0) this.#allowance.room();
    this.#hear();
  }

  #hear(): void {
    if (this.#wasHeard === this.isHeard) return;
    this.#wasHeard = this.isHeard;
    this.#options.told.heard();
  }

  #complete(): void {
    const all = this.#reading.listed;
    if (all) this.#allowance.end();
    if (this.#listed || !all) return;
    this.#listed = true;
    this.#options.told.listed();
    this.#hear();
  }

  #registry(): Registry {
    const { id: cluster, namespace, clusterSetCidrs } = this.#options;
    return { cluster, namespace, clusterSetCidrs, endpointCidrs: this.#endpointCidrs };
  }
}

/** Whatever else is there, it is one Lease that says who the cluster is. */
function onlyTheLease(leases: FactStore<LeaseSight>): Sink {
  return {
    changed: (key, object) => {
      if (nameOf(key) === LEASE_NAME) leases.changed(key, object);
    },
    removed: (key) => leases.removed(key),
  };
}

function parseLease(object: unknown, registry: Registry): Parsed<LeaseSight> {
  const { fact: cluster, ...rest } = decodeCluster(object, registry);
  const claim = leaseClaimOf(object);
  return claim === undefined
    ? rest
    : { ...rest, fact: { claim, ...(cluster !== undefined && { cluster }) } };
}

function nameOf(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}

function keyOf(key: string): ObjectKey {
  const [namespace = "", name = ""] = key.split("/");
  return objectKey(namespace, name);
}
