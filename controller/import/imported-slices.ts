import type { ObjectKey } from "../../api/names.ts";
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
import type { Rotation } from "../model/rotation.ts";
import { importedSliceName } from "./imported-slice-name.ts";
import { sliceManifest, staleContent } from "./slice-manifest.ts";

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
 * `ready: false, serving: true`, a last resort.
 */
export function importedSlices(
  service: Importing,
  contributions: readonly Contribution[],
): ImportedSlices {
  const { slices, omitted } = importableSlices(service, contributions);
  const manifests = slices.map(({ slice, contribution }) =>
    manifestOf(slice, service.key, contribution),
  );
  return { slices: manifests, omitted };
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
    const names = importedNames(record.ports, service.ports);
    const bare = service.headless && record.ports.length === 0;
    for (const slice of contribution.slices) {
      const ports = slice.ports.flatMap((port) => {
        const name = names.get(joint(port));
        return name === undefined ? [] : [{ ...port, name }];
      });
      const isEmpty = slice.endpoints.length === 0;
      const omit = (reason: OmittedSlice["reason"]): void => {
        // An empty slice loses nothing.
        if (isEmpty) return;
        const has = reason === "family-not-merged" ? slice.family : portsText(slice.ports);
        omitted.push({ cluster: record.cluster, slice: slice.key, reason, has });
      };
      const isBare = bare || (isEmpty && slice.ports.length === 0);
      if (!service.families.includes(slice.family)) omit("family-not-merged");
      else if (ports.length === 0 && !isBare) omit("port-not-merged");
      else slices.push({ contribution, slice: { ...slice, ports } });
    }
  }
  return { slices, omitted };
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
