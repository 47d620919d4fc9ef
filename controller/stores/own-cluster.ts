import type { Cidr } from "../../api/cidr.ts";
import { LABEL_SERVICE_NAME, LABEL_SERVICE_SLICE } from "../../api/keys.ts";
import { type ObjectKey, objectKey } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";
import type { Parsed } from "../../api/parse/parsed.ts";
import type { Problem } from "../../api/problem.ts";
import type {
  ExportFact,
  ImportFact,
  NamespaceFact,
  ServiceFact,
  SliceFact,
} from "../model/facts.ts";
import { parseExport } from "../model/parse-export.ts";
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
import { FactStore } from "./fact-store.ts";
import type { Sink } from "./feed.ts";
import type { OWN_QUERIES } from "./resources.ts";

/** A Service, and the addresses that it has: no VIP may be one of them. */
export interface ServiceSight {
  readonly service: ServiceFact;
  readonly clusterIps: readonly string[];
}

/** Who is told what may have to be done because of a change in our own cluster. */
export interface OwnClusterTold {
  /** What a ServiceExport publishes may be something else. */
  exporting(key: ObjectKey): void;
  /** What a name imports, or has imported, may be something else. */
  importing(key: ObjectKey): void;
  /** The slices of a Service are others than before. */
  slices(service: ObjectKey): void;
  /** Addresses that an object takes; none when it is gone. */
  taken(object: string, addresses: readonly string[]): void;
  /** A namespace has come, changed or gone. */
  namespace(name: string): void;
  /** A ClusterProperty has come, changed or gone. */
  property(): void;
  problems(object: string, problems: readonly Problem[]): void;
}

/** All that is believed of our own cluster. */
export class OwnCluster {
  readonly namespaces: FactStore<NamespaceFact>;
  readonly services: FactStore<ServiceSight>;
  readonly exports: FactStore<ExportFact>;
  readonly imports: FactStore<ImportFact>;
  /** By Service. */
  readonly serviceSlices: FactStore<SliceFact>;
  /** By import. */
  readonly importedSlices: FactStore<ImportedSliceFact>;
  readonly properties: FactStore<PropertyFact>;

  constructor(clusterSetCidrs: readonly Cidr[], told: OwnClusterTold) {
    const problems = told.problems.bind(told);
    this.namespaces = new FactStore({
      parse: parseNamespace,
      told: { changed: (key) => told.namespace(key), problems },
    });
    this.services = new FactStore({
      parse: parseServiceSight,
      told: {
        changed: (key, fact) => {
          told.taken(`Service ${key}`, fact?.clusterIps ?? []);
          told.exporting(keyOf(key));
        },
        problems,
      },
    });
    this.exports = new FactStore({
      parse: parseExport,
      written: true,
      told: { changed: (key) => told.exporting(keyOf(key)), problems },
    });
    this.imports = new FactStore({
      parse: parseImport,
      written: true,
      told: {
        changed: (key, fact) => {
          told.taken(`ServiceImport ${key}`, fact?.ips ?? []);
          told.importing(keyOf(key));
        },
        problems,
      },
    });
    this.serviceSlices = new FactStore({
      parse: (object) => parseServiceSlice(object, clusterSetCidrs),
      groupOf: (key, object) => owner(key, object, LABEL_SERVICE_SLICE),
      told: {
        changed: (_key, _fact, _before, service) => {
          if (service === undefined) return;
          told.slices(keyOf(service));
          told.exporting(keyOf(service));
        },
        problems,
      },
    });
    this.importedSlices = new FactStore({
      parse: parseImportedSlice,
      written: true,
      groupOf: (key, object) => owner(key, object, LABEL_SERVICE_NAME),
      told: {
        changed: (_key, _fact, _before, name) => {
          if (name !== undefined) told.importing(keyOf(name));
        },
        problems,
      },
    });
    this.properties = new FactStore({
      parse: parseProperty,
      told: { changed: () => told.property(), problems },
    });
  }

  /** Where the objects of each query go. */
  sinks(): Readonly<Record<keyof typeof OWN_QUERIES, Sink>> {
    const { serviceSlices, importedSlices } = this;
    return {
      namespaces: this.namespaces,
      services: this.services,
      serviceexports: this.exports,
      serviceimports: this.imports,
      clusterproperties: this.properties,
      endpointslices: {
        changed: (key, object) => {
          const [to, from] = isImportedSlice(object)
            ? [importedSlices, serviceSlices]
            : [serviceSlices, importedSlices];
          from.removed(key);
          to.changed(key, object);
        },
        removed: (key) => {
          serviceSlices.removed(key);
          importedSlices.removed(key);
        },
      },
    };
  }

  /** Services that have slices. */
  *servicesWithSlices(): Iterable<ObjectKey> {
    for (const service of this.serviceSlices.groups()) yield keyOf(service);
  }

  /** True if a namespace takes new objects. */
  takesObjects(namespace: string): boolean {
    return this.namespaces.fact(namespace)?.terminating === false;
  }
}

/** What a slice belongs to, by a label and in its own namespace. */
function owner(key: string, object: unknown, label: string): ObjectKey | undefined {
  const name = fieldAt(object, "metadata", "labels", label);
  if (typeof name !== "string" || name === "") return undefined;
  return objectKey(key.slice(0, key.indexOf("/")), name);
}

/** The reflector's key of an object in a namespace. */
function keyOf(key: string): ObjectKey {
  const [namespace = "", name = ""] = key.split("/");
  return objectKey(namespace, name);
}

function parseServiceSight(object: unknown): Parsed<ServiceSight> {
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
