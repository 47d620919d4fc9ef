import type { Reason } from "../../api/reasons.ts";

/**
 * Limits of what one cluster publishes. The exporter observes them too, so only a broken or hostile cluster loses
 * anything.
 */

/** Ports of one exported Service, as in a slice. */
export const MOST_PORTS = 100;

export const MOST_ENDPOINTS = 10_000;

/** Different sets of ports of one exported Service, counted per family. */
export const MOST_GROUPS = 64;

/** Endpoints per slice, as in Kubernetes. */
export const MOST_PACKED = 100;

/**
 * Slices of one exported Service; packing needs at most twice as many as necessary plus one per set of ports, and 164
 * for the limits above.
 */
export const MOST_SLICES = 400;

/** Exported labels, and exported annotations, of one ServiceExport. */
export const MOST_KEYS = 64;

/** Characters of either. In JSON each takes at most six bytes, within the API server's 256 KiB of annotations. */
export const MOST_KEY_CHARACTERS = 32_768;

/** Longest Lease duration in seconds. */
export const MOST_LEASE_SECONDS = 3600;

/** Characters of `ClusterFact.completeExcept`, which the Lease has with each renewal. */
export const MOST_EXCEPT_CHARACTERS = 16_384;

export const MOST_RECORDS = 10_000;

/** Characters of all exported labels and annotations of one cluster. */
export const MOST_RECORD_CHARACTERS = 16_777_216;

export const MOST_REGISTRY_SLICES = 50_000;

export const MOST_REGISTRY_ENDPOINTS = 500_000;
export const MOST_REGISTRY_PORTS = 500_000;

/** Why slices of an export are beyond the limits of a registry. */
export const OVER_LIMITS = [
  "too-many-slices",
  "too-many-endpoints",
  "too-many-ports",
  "too-many-rules",
] as const satisfies readonly Reason[];

export type OverLimit = (typeof OVER_LIMITS)[number];

/** Stored problems of one kind of object in a registry. */
export const MOST_PROBLEMS = 10_000;

/**
 * Objects of each kind in a registry, used or not, which namespaces share. Twice what the quotas admit, for one namespace, too, so that the quotas report
 * first, and the oldest objects of a namespace are used.
 */
export const MOST_REGISTRY_OBJECTS = {
  serviceimports: 2 * MOST_RECORDS,
  endpointslices: 2 * MOST_REGISTRY_SLICES,
  // One is the registry's; other programs may have theirs.
  leases: 1000,
} as const;

/** Bytes by resource; of EndpointSlices that the controller writes, or that somebody labels so, apart. */
export type LocalBytes = Readonly<
  Record<
    | "endpointslices"
    | "failoverslices"
    | "importedslices"
    | "serviceexports"
    | "serviceimports"
    | "services",
    number
  >
>;

/** Memory of what the controller keeps of its own cluster's objects, which namespaces share, in bytes as `memorySize` estimates them. */
export const MOST_LOCAL_BYTES: LocalBytes = {
  /** Slices of Services, exported or not, because an export may be created later: of 600,000 plain endpoints. */
  endpointslices: 134_217_728,
  /** Of one to three ports, more than 200,000. */
  importedslices: 134_217_728,
  failoverslices: 67_108_864,
  /** Twice the characters that a registry has room for. */
  serviceexports: 33_554_432,
  /** Twice what agents keep, because they show the exports of all clusters: 25,000 with those of ten. */
  serviceimports: 134_217_728,
  /** Of about 80,000 of a few ports each. */
  services: 67_108_864,
};
