import { canonicalAddresses, isAddress, parseAddress } from "../../api/address.ts";
import { type Cidr, containsAny } from "../../api/cidr.ts";
import { LABEL_SERVICE_NAME, LABEL_SERVICE_SLICE } from "../../api/keys.ts";
import { namesOf, type ObjectKey, objectKey } from "../../api/names.ts";
import type { Parsed } from "../../api/parse/complaints.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import { type IpAddressFact, parseIpAddress } from "../../api/parse/parse-ip-address.ts";
import type { Problem } from "../../api/problem.ts";
import { memorySize } from "../../api/quota.ts";
import { StoreQuota } from "../../api/store-quota.ts";
import { type VipDispute, VipHolders } from "../../api/vip-holders.ts";
import type {
  ExportFact,
  ImportFact,
  NamespaceFact,
  ServiceFact,
  SliceFact,
} from "../model/facts.ts";
import { type LocalBytes, MOST_LOCAL_BYTES, MOST_PROBLEMS } from "../model/limits.ts";
import { parseExport } from "../model/parse-export.ts";
import {
  type FailoverSliceFact,
  isFailoverSlice,
  parseFailoverSlice,
  serviceOfFailoverSlice,
} from "../model/parse-failover-slice.ts";
import { parseImport } from "../model/parse-import.ts";
import {
  type ImportedSliceFact,
  isImportedSlice,
  parseImportedSlice,
} from "../model/parse-imported-slice.ts";
import { parseNamespace } from "../model/parse-namespace.ts";
import { type PropertyFact, parseProperty } from "../model/parse-property.ts";
import { parseService } from "../model/parse-service.ts";
import { parseServiceSlice } from "../model/parse-service-slice.ts";
import {
  reducedExport,
  reducedImport,
  reducedImportedSlice,
  reducedService,
} from "../model/reduced.ts";
import type { Dirty } from "../model/task.ts";
import { FactStore } from "./fact-store.ts";
import type { Sink } from "./informer.ts";
import type { LOCAL_QUERIES } from "./resources.ts";

/** A Service and its ClusterIPs, which no VIP may equal. */
export interface AddressedService {
  readonly service: ServiceFact;
  readonly clusterIps: readonly string[];
}

/** Ranges of VIPs. */
export interface VipRanges {
  readonly clusterSetCidrs: readonly Cidr[];
  readonly explicitVipCidrs: readonly Cidr[];
}

/** What `LocalStores` report. */
export interface LocalStoresEvents {
  readonly dirty: Dirty;
  /** The slices of a Service have changed. */
  slices(service: ObjectKey): void;
  /** Addresses in use by an object; none once it is gone. */
  taken(object: string, addresses: readonly string[]): void;
  namespace(name: string): void;
  property(): void;
  problems(object: string, problems: readonly Problem[]): void;
  /** There is room for objects of a query that were left out: they must be listed again. */
  room(query: keyof typeof LOCAL_QUERIES, keys: Iterable<string>): void;
}

/** The quota of a store, and the query that fills it. */
interface QueryQuota {
  readonly query: string;
  readonly quota: Pick<StoreQuota<unknown>, "begin" | "end">;
}

/** Caches of the local cluster's objects. */
export class LocalStores {
  readonly namespaces: FactStore<NamespaceFact>;
  readonly services: FactStore<AddressedService>;
  readonly exports: FactStore<ExportFact>;
  readonly imports: FactStore<ImportFact>;
  /** By Service. */
  readonly serviceSlices: FactStore<SliceFact>;
  /** By import. */
  readonly importedSlices: FactStore<ImportedSliceFact>;
  /** By Service: endpoints of other clusters that the controller lists for it. */
  readonly failoverSlices: FactStore<FailoverSliceFact>;
  readonly properties: FactStore<PropertyFact>;
  /** Of VIPs, by import, and in the ranges of VIPs. One without a fact belongs to another program. */
  readonly ipAddresses: FactStore<IpAddressFact>;
  readonly vipHolders = new VipHolders();
  /** Namespaces share what is kept of what tenants may write in any amount. */
  readonly #quotas: QueryQuota[] = [];

  readonly #dirty: Dirty;
  readonly #vipRanges: readonly Cidr[];
  /** Namespaces that ask for ClusterIP failover of all their Services. */
  readonly #askingNamespaces = new Set<string>();

  constructor(
    { clusterSetCidrs, explicitVipCidrs }: VipRanges,
    events: LocalStoresEvents,
    limits: LocalBytes = MOST_LOCAL_BYTES,
  ) {
    const { dirty } = events;
    this.#dirty = dirty;
    this.#vipRanges = [...clusterSetCidrs, ...explicitVipCidrs];
    const problems = events.problems.bind(events);
    const quota = <Fact>(
      query: keyof typeof LOCAL_QUERIES,
      kind: string,
      most: number,
      store: () => FactStore<Fact>,
      reduce?: (fact: Fact) => Fact,
    ): StoreQuota<Fact> => {
      const limit = { reason: "too-much-memory", most, weigh: memorySize } as const;
      const room = () => events.room(query, store().rejected());
      const made = new StoreQuota<Fact>({
        ...{ kind, limits: [limit], mostProblems: MOST_PROBLEMS, events: { problems, room } },
        ownerOf: (key) => namesOf(key).namespace,
        ...(reduce !== undefined && { reduce }),
      });
      this.#quotas.push({ query, quota: made });
      return made;
    };
    this.namespaces = new FactStore({
      parse: parseNamespace,
      changed: ({ key, fact }) => {
        events.namespace(key);
        this.#namespaceFailover(key, fact?.failover === true);
      },
      problems,
    });
    this.services = new FactStore({
      parse: parseAddressedService,
      quota: quota(
        "services",
        "Services",
        limits.services,
        () => this.services,
        ({ service, clusterIps }) => ({ service: reducedService(service), clusterIps }),
      ),
      changed: ({ key, fact }) => {
        events.taken(`Service ${key}`, fact?.clusterIps ?? []);
        this.exportChanged(keyOf(key));
        dirty("failover", keyOf(key));
      },
      problems,
    });
    this.exports = new FactStore({
      parse: parseExport,
      written: true,
      quota: quota(
        "serviceexports",
        "ServiceExports",
        limits.serviceexports,
        () => this.exports,
        reducedExport,
      ),
      changed: ({ key, isOwnWrite }) => {
        if (isOwnWrite) return;
        for (const kind of ["import", "export", "status"] as const) dirty(kind, keyOf(key));
      },
      problems,
    });
    this.imports = new FactStore({
      parse: parseImport,
      written: true,
      quota: quota(
        "serviceimports",
        "ServiceImports",
        limits.serviceimports,
        () => this.imports,
        reducedImport,
      ),
      changed: ({ key, fact, isOwnWrite }) => {
        const ips = [...(fact?.ips ?? []), ...(fact?.previousIps ?? [])];
        events.taken(`ServiceImport ${key}`, ips);
        if (!isOwnWrite) dirty("import", keyOf(key));
        // Its tiers are the failover's, whoever wrote them.
        dirty("failover", keyOf(key));
        const vips = fact === undefined || fact.headless ? [] : canonicalAddresses(ips);
        for (const other of this.vipHolders.claim(keyOf(key), vips)) dirty("import", other);
      },
      problems,
    });
    this.serviceSlices = new FactStore({
      parse: (object) => parseServiceSlice(object, clusterSetCidrs),
      quota: quota(
        "endpointslices",
        "EndpointSlices",
        limits.endpointslices,
        () => this.serviceSlices,
      ),
      groupOf: (key, object) => owner(key, object, LABEL_SERVICE_SLICE),
      changed: ({ group }) => {
        if (group === undefined) return;
        events.slices(group);
        this.exportChanged(group);
        // Failover slices leave out their addresses, and depend on their conditions.
        dirty("failover", group);
      },
      problems,
    });
    this.importedSlices = new FactStore({
      parse: parseImportedSlice,
      written: true,
      quota: quota(
        "endpointslices",
        "Imported EndpointSlices",
        limits.importedslices,
        () => this.importedSlices,
        reducedImportedSlice,
      ),
      groupOf: (key, object) => owner(key, object, LABEL_SERVICE_NAME),
      changed: ({ group, isOwnWrite }) => {
        if (group !== undefined && !isOwnWrite) dirty("import", group);
      },
      problems,
    });
    this.failoverSlices = new FactStore({
      parse: parseFailoverSlice,
      written: true,
      quota: quota(
        "endpointslices",
        "Failover EndpointSlices",
        limits.failoverslices,
        () => this.failoverSlices,
      ),
      groupOf: (key, object) => {
        const { namespace, name } = namesOf(key);
        return objectKey(namespace, serviceOfFailoverSlice(name, object));
      },
      changed: ({ group, isOwnWrite }) => {
        if (group !== undefined && !isOwnWrite) dirty("failover", group);
      },
      problems,
    });
    this.properties = new FactStore({
      parse: parseProperty,
      written: true,
      changed: () => events.property(),
      problems,
    });
    this.ipAddresses = new FactStore({
      parse: parseIpAddress,
      written: true,
      groupOf: (_key, _object, fact) => fact?.holder,
      changed: ({ key, fact, group, isOwnWrite }) => {
        events.taken(`IPAddress ${key}`, this.ipAddresses.seen(key) === undefined ? [] : [key]);
        const affected = this.vipHolders.record(key, fact?.holder);
        for (const one of affected) dirty("import", one);
        // That of another program has come or gone.
        if (group === undefined)
          for (const one of this.vipHolders.claimants(key)) dirty("import", one);
        else if (!isOwnWrite) dirty("import", group);
      },
      problems,
    });
  }

  /** A list of a query begins, or is complete or interrupted. */
  listing(query: string, isListing: boolean): void {
    for (const { query: of, quota } of this.#quotas) {
      if (of !== query) continue;
      if (isListing) quota.begin();
      else quota.end();
    }
  }

  /** What a Service would publish has changed: its import here does not wait for the registry. */
  exportChanged(service: ObjectKey): void {
    if (this.exports.fact(service) !== undefined) this.#dirty("import", service);
    this.#dirty("export", service);
  }

  /** True if a Service asks for ClusterIP failover, or its Namespace for all Services that do not say. */
  asksForFailover(service: ObjectKey): boolean {
    const fact = this.services.fact(service)?.service;
    if (fact === undefined) return false;
    return fact.failover ?? this.namespaces.fact(namesOf(service).namespace)?.failover ?? false;
  }

  /** The store of each query. */
  sinks(): Readonly<Record<keyof typeof LOCAL_QUERIES, Sink>> {
    const sliceStores = [this.serviceSlices, this.importedSlices, this.failoverSlices];
    return {
      namespaces: this.namespaces,
      services: this.services,
      serviceexports: this.exports,
      serviceimports: this.imports,
      clusterproperties: this.properties,
      ipaddresses: {
        changed: (key, object) => {
          if (this.#mayConcernVips(key, object)) this.ipAddresses.changed(key, object);
          else this.ipAddresses.removed(key);
        },
        removed: (key, how) => this.ipAddresses.removed(key, how),
      },
      endpointslices: {
        changed: (key, object) => {
          const to = this.#sliceStoreOf(object);
          for (const store of sliceStores) if (store !== to) store.removed(key);
          to.changed(key, object);
        },
        removed: (key) => {
          for (const store of sliceStores) store.removed(key);
        },
      },
    };
  }

  /** True for the IPAddress of an import, and for one that may be in the way of a VIP. */
  #mayConcernVips(name: string, object: unknown): boolean {
    const address = parseAddress(name);
    if (isAddress(address) && containsAny(this.#vipRanges, address)) return true;
    return parseIpAddress(object).fact !== undefined;
  }

  /** What lists a cluster's endpoints for another cluster is no slice of a Service that is exported. */
  #sliceStoreOf(object: unknown): Sink {
    if (isFailoverSlice(object)) return this.failoverSlices;
    return isImportedSlice(object) ? this.importedSlices : this.serviceSlices;
  }

  #namespaceFailover(namespace: string, asks: boolean): void {
    if (this.#askingNamespaces.has(namespace) === asks) return;
    if (asks) this.#askingNamespaces.add(namespace);
    else this.#askingNamespaces.delete(namespace);
    for (const { service } of this.services.facts()) {
      if (namesOf(service.key).namespace === namespace) this.#dirty("failover", service.key);
    }
  }

  /** Why a VIP is not an import's; undefined if it is, or can be. Another program may have allocated it, too. */
  disputeOf(vip: string, key: ObjectKey): VipDispute | undefined {
    const holder = this.vipHolders.holder(vip);
    if (holder === "contested") return "vip-contested";
    const isForeign =
      this.ipAddresses.seen(vip) !== undefined && this.ipAddresses.fact(vip) === undefined;
    return isForeign || (holder !== undefined && holder !== key) ? "vip-conflict" : undefined;
  }

  /** True if the namespace exists and is not terminating. */
  takesObjects(namespace: string): boolean {
    return this.namespaces.fact(namespace)?.terminating === false;
  }
}

/** The Service or import that a slice's label names, in the slice's own namespace. */
function owner(key: string, object: unknown, label: string): ObjectKey | undefined {
  const name = fieldAt(object, "metadata", "labels", label);
  if (typeof name !== "string" || name === "") return undefined;
  return objectKey(namesOf(key).namespace, name);
}

function keyOf(key: string): ObjectKey {
  const { namespace, name } = namesOf(key);
  return objectKey(namespace, name);
}

function parseAddressedService(object: unknown): Parsed<AddressedService> {
  const { fact, ...rest } = parseService(object);
  if (fact === undefined) return rest;
  const listed = fieldAt(object, "spec", "clusterIPs");
  const ips: readonly unknown[] = Array.isArray(listed)
    ? listed
    : [fieldAt(object, "spec", "clusterIP")];
  return { ...rest, fact: { service: fact, clusterIps: ips.filter((ip) => isIp(ip)) } };
}

function isIp(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value !== "None";
}
