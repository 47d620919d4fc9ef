import { createHash } from "node:crypto";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import type { Reason } from "../../api/reasons.ts";
import { shiftText } from "../../api/shift.ts";
import { importedNames, joint } from "../merge/port-names.ts";
import type {
  ClusterFact,
  ExportRecord,
  ServicePort,
  ServiceProperties,
  SliceFact,
} from "../model/facts.ts";
import { inKeyOrder, type Manifest } from "../model/manifest.ts";
import type { ImportedSliceFact } from "../model/parse-imported-slice.ts";
import { IN_ROTATION, type Rotation } from "../model/rotation.ts";
import { restoredContent, sliceManifest, staleContent } from "./slice-manifest.ts";

/** One cluster's share of a service. Its ready endpoints are a last resort unless its state is `alive`. */
export interface Contribution extends Rotation {
  readonly record: ExportRecord;
  readonly slices: readonly SliceFact[];
  /** Absent until the cluster's Lease was read. */
  readonly cluster?: Pick<ClusterFact, "properties" | "region">;
}

/** The service to import slices for. */
export type Importing = Pick<ServiceProperties, "families" | "headless" | "ports"> & {
  readonly key: ObjectKey;
};

/** A slice that cannot be imported. */
export interface OmittedSlice {
  readonly cluster: string;
  /** Its key in the registry. */
  readonly slice: ObjectKey;
  readonly reason: Extract<Reason, "family-not-merged" | "port-not-merged">;
  /** Its family, or its ports: `http/TCP`. */
  readonly has: string;
}

export interface ImportedSlices {
  readonly slices: readonly Manifest[];
  readonly omitted: readonly OmittedSlice[];
}

/** A slice of a cluster, with those of its ports that are imported, under the import's names. */
export interface ImportableSlice {
  readonly contribution: Contribution;
  readonly slice: SliceFact;
}

/**
 * Computes the imported slices.
 *
 * Hints are dropped, because they were computed for another cluster. Ready endpoints of a stale or drained cluster become
 * `ready: false, serving: true`, a last resort, unless the service is headless (`inUse`).
 */
export function importedSlices(
  service: Importing,
  contributions: readonly Contribution[],
): ImportedSlices {
  const { slices, omitted } = importableSlices(service, inUse(service, contributions));
  const manifests = slices.map(({ slice, contribution }) =>
    manifestOf(slice, service.key, contribution),
  );
  return { slices: manifests, omitted };
}

/**
 * The contributions as the clients of a service use them. All clusters of a headless service are in rotation: DNS has no last
 * resort, so an endpoint that is not ready has no name, and the pods of a database no longer find each other.
 */
export function inUse(
  { headless }: Pick<Importing, "headless">,
  contributions: readonly Contribution[],
): readonly Contribution[] {
  if (!headless) return contributions;
  return contributions.map(({ cluster, record, slices }) => ({
    // Those that their exporter holds back, too.
    ...{ record, slices: slices.map(restoredContent), ...IN_ROTATION },
    ...(cluster !== undefined && { cluster }),
  }));
}

/**
 * The slices that can be imported. A slice keeps the ports whose protocol and number are the import's, under the import's
 * names, by which agents and DNS find them. It is left out if none remain or if its family is not imported. Without ports are
 * imported: slices of headless Services without ports, and empty slices, which state that there is no endpoint.
 */
export function importableSlices(
  service: Importing,
  contributions: readonly Contribution[],
): { readonly slices: readonly ImportableSlice[]; readonly omitted: readonly OmittedSlice[] } {
  const slices: ImportableSlice[] = [];
  const omitted: OmittedSlice[] = [];
  for (const contribution of contributions) {
    const { record } = contribution;
    const portsOf = importablePorts(service, record);
    for (const slice of contribution.slices) {
      const isEmpty = slice.endpoints.length === 0;
      const ports = portsOf({ ...slice, isEmpty });
      if (typeof ports !== "string") slices.push({ contribution, slice: { ...slice, ports } });
      // An empty slice loses nothing.
      else if (!isEmpty) {
        const has = ports === "family-not-merged" ? slice.family : portsText(slice.ports);
        omitted.push({ cluster: record.cluster, slice: slice.key, reason: ports, has });
      }
    }
  }
  return { slices, omitted };
}

/** The ports of a cluster's slice that are imported, under the import's names, or why the slice is left out. */
export function importablePorts(
  service: Importing,
  record: ExportRecord,
): (slice: PortsOfSlice) => OmittedSlice["reason"] | readonly ServicePort[] {
  return importable(service, record, renamed(importedNames(record.ports, service.ports)));
}

/**
 * The same for a slice that was imported before: its ports have the names that the import had then. A name that neither the import
 * nor the cluster has any more is that of the only port, if both have one.
 */
export function retainedPorts(
  service: Importing,
  record: ExportRecord,
): (slice: PortsOfSlice) => OmittedSlice["reason"] | readonly ServicePort[] {
  const names = importedNames(record.ports, service.ports);
  const present = new Set(
    record.ports.flatMap((port) => {
      const name = names.get(joint(port));
      return name === undefined ? [] : [joint({ ...port, name })];
    }),
  );
  return importable(service, record, (ports) => {
    if (ports.some((port) => present.has(joint(port))))
      return ports.filter((port) => present.has(joint(port)));
    const [only] = record.ports;
    const [port] = ports;
    const isOnly = record.ports.length === 1 && ports.length === 1;
    if (!isOnly || port?.protocol !== only?.protocol) return renamed(names)(ports);
    return renamed(names)(ports.map((one) => ({ ...one, name: only?.name ?? one.name })));
  });
}

type PortsOfSlice = Pick<ImportedSliceFact, "family" | "isEmpty" | "ports">;

function importable(
  service: Importing,
  record: ExportRecord,
  portsOf: (ports: readonly ServicePort[]) => readonly ServicePort[],
): (slice: PortsOfSlice) => OmittedSlice["reason"] | readonly ServicePort[] {
  const bare = service.headless && record.ports.length === 0;
  return (slice) => {
    const ports = portsOf(slice.ports);
    const isBare = bare || (slice.isEmpty && slice.ports.length === 0);
    if (!service.families.some((family) => family === slice.family)) return "family-not-merged";
    return ports.length === 0 && !isBare ? "port-not-merged" : ports;
  };
}

/** Those of the ports that have an import's name, under it. */
function renamed(
  names: ReadonlyMap<string, string>,
): (ports: readonly ServicePort[]) => readonly ServicePort[] {
  return (ports) =>
    ports.flatMap((port) => {
      const name = names.get(joint(port));
      return name === undefined ? [] : [{ ...port, name }];
    });
}

function portsText(ports: readonly ServicePort[]): string {
  return ports.map(({ name, protocol }) => `${name}/${protocol}`).join();
}

function manifestOf(
  slice: SliceFact,
  service: ObjectKey,
  { record, state, shift, cluster }: Contribution,
): Manifest {
  const { region, properties = {} } = cluster ?? {};
  const isEmpty = Object.keys(properties).length === 0;
  const metadata = {
    name: importedSliceName(service, record.cluster, slice.key),
    service,
    cluster: record.cluster,
    region,
    properties: isEmpty ? undefined : JSON.stringify(inKeyOrder(properties)),
    shift: shift && shiftText(shift),
  };
  return sliceManifest(metadata, state === "alive" ? slice : staleContent(slice));
}

/**
 * The name of an imported slice: import, source cluster, and a hash of the slice's key in the registry. An import's
 * name has no dot, so slices of different clusters have different names.
 */
export function importedSliceName(
  service: ObjectKey,
  cluster: string,
  recorded: ObjectKey,
): string {
  const hash = createHash("sha256").update(recorded).digest("hex").slice(0, 16);
  return `${namesOf(service).name}.${cluster}.${hash}`;
}
