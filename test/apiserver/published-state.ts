import type { ApiObject } from "./api-client.ts";
import { EXPORT, IMPORT, SLICE, type StagedCluster } from "./staged-cluster.ts";

const RECORD = "clusterset-proxy.io/record";
const SERVICE_NAME = "multicluster.kubernetes.io/service-name";
const MANAGED = "endpointslice.kubernetes.io/managed-by=clusterset-controller";
/** An address of 241.0.0.0/8, the default range of VIPs. */
const VIP = /\b241(\.\d+){3}\b/g;
/** Metadata of writes: time, manager, version. */
const HISTORY = [
  "creationTimestamp",
  "generation",
  "lastTransitionTime",
  "managedFields",
  "observedGeneration",
  "resourceVersion",
  "uid",
];

/** All that a controller has made in its cluster, and what it has told exporters, without when and how it came to be. */
export interface PublishedState {
  /** Addresses of all that was imported, sorted, by name. A name without slices is in it, and so is one without an import. */
  readonly imported: Readonly<Record<string, readonly string[]>>;
  /** VIPs of all imports. In the rest, `VIP` replaces them. */
  readonly vips: readonly string[];
  readonly imports: readonly unknown[];
  readonly records: readonly unknown[];
  readonly exports: readonly unknown[];
  /**
   * Endpoints of imported and of published slices, sorted, by what else these say: how they are spread over slices hangs on
   * what there was before.
   */
  readonly endpoints: Readonly<Record<string, readonly string[]>>;
}

/** Reads it. */
export async function publishedState({ plane }: StagedCluster): Promise<PublishedState> {
  const objects = await plane.admin.list(IMPORT);
  const slices = await plane.admin.list(SLICE, { labelSelector: MANAGED });
  const exports = await plane.admin.list(EXPORT);
  const imports = objects.filter((object) => !isRecord(object));
  const addresses = new Map(imports.map(({ metadata }) => [nameOf(metadata), [] as string[]]));
  const endpoints = new Map<string, string[]>();
  for (const slice of slices) {
    const { metadata, addressType, ports } = slice;
    const { namespace, labels } = metadata;
    const about = JSON.stringify([namespace, labels, addressType, ports]);
    const told = endpointsOf(slice);
    endpoints.set(about, [
      ...(endpoints.get(about) ?? []),
      ...told.map((one) => JSON.stringify(one)),
    ]);
    const name = labelsOf(slice)[SERVICE_NAME];
    if (name === undefined) continue;
    const key = `${namespace}/${name}`;
    addresses.set(key, [...(addresses.get(key) ?? []), ...told.flatMap((one) => one.addresses)]);
  }
  return {
    imported: sorted(addresses),
    vips: imports.flatMap(({ spec }) => (spec as { readonly ips?: readonly string[] }).ips ?? []),
    imports: imports.map(content),
    records: objects.filter(isRecord).map(content),
    exports: exports.map(content),
    endpoints: sorted(endpoints),
  };
}

/** Endpoints that are listed more than once. */
export function duplicates({ endpoints }: PublishedState): string[] {
  return Object.entries(endpoints).flatMap(([about, list]) =>
    list.filter((one, i) => list[i + 1] === one).map((one) => `${about}: ${one}`),
  );
}

/** Deletes all that a controller has made in its cluster, as if none had ever run there. It must not run. */
export async function eraseWork({ plane: { admin } }: StagedCluster): Promise<void> {
  const slices = await admin.list(SLICE, { labelSelector: MANAGED });
  for (const { metadata } of slices) await admin.delete({ ...SLICE, metadata });
  for (const { metadata } of await admin.list(IMPORT)) await admin.delete({ ...IMPORT, metadata });
}

function isRecord(object: ApiObject): boolean {
  return RECORD in labelsOf(object);
}

function labelsOf({ metadata }: ApiObject): Readonly<Record<string, string>> {
  return (metadata.labels ?? {}) as Readonly<Record<string, string>>;
}

function nameOf({ namespace, name }: Pick<ApiObject["metadata"], "name" | "namespace">) {
  return `${namespace}/${name}`;
}

function endpointsOf({ endpoints }: ApiObject) {
  return (endpoints ?? []) as readonly { readonly addresses: readonly string[] }[];
}

function sorted(map: ReadonlyMap<string, readonly string[]>): Record<string, readonly string[]> {
  const entries = [...map].map(([key, list]) => [key, list.toSorted()] as const);
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** An object without its history. API servers list by namespace and name. */
function content(object: ApiObject): unknown {
  const text = JSON.stringify(object, (key, value) => (HISTORY.includes(key) ? undefined : value));
  return JSON.parse(text.replaceAll(VIP, "VIP"));
}
