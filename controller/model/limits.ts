/**
 * What one cluster may publish. The exporter keeps to these, so a reader who counts loses nothing of an honest
 * cluster, and a hostile one costs a bounded amount of memory and work.
 */

/** Ports of one exported Service: as many as a slice of it may have. */
export const MOST_PORTS = 100;

/** Endpoints of one exported Service, of all families. */
export const MOST_ENDPOINTS = 10_000;

/** Different sets of ports that the endpoints of one exported Service listen on, counted once a family. */
export const MOST_GROUPS = 64;

/** Endpoints that we put in one slice, as Kubernetes does by default. */
export const MOST_PACKED = 100;

/**
 * Slices of one exported Service. Packing uses less: at most twice as many as needed and one more, for each set of
 * ports, and `MOST_ENDPOINTS` in `MOST_GROUPS` sets need at most 164.
 */
export const MOST_SLICES = 400;

/** Labels, and annotations, that one ServiceExport may ask to be carried: so many keys of each. */
export const MOST_KEYS = 64;

/**
 * Characters of the keys and values of either. JSON makes at most six bytes of a character, and an API server takes
 * 256 KiB of annotations on an object: both fit in.
 */
export const MOST_KEY_CHARACTERS = 32_768;

/** Seconds that a cluster may claim to be alive without a renewal: who says "for ever" is never found stale. */
export const MOST_LEASE_SECONDS = 3600;

/** Exports of one cluster. */
export const MOST_RECORDS = 10_000;

/** Characters of all labels and annotations that one cluster exports. */
export const MOST_RECORD_CHARACTERS = 16_777_216;

/** Slices of all exports of one cluster. */
export const MOST_REGISTRY_SLICES = 50_000;

/** Endpoints of all exports of one cluster; and ports of all slices. */
export const MOST_REGISTRY_ENDPOINTS = 500_000;
export const MOST_REGISTRY_PORTS = 500_000;

/** What may be wrong with objects of one kind in a cluster's registry, as far as it is remembered and told. */
export const MOST_PROBLEMS = 10_000;
