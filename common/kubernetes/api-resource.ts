import type { ResourceQuery } from "./resource-query.ts";

/** A resource whose single objects are read or written. */
export interface ApiResource extends Pick<ResourceQuery, "group" | "versions" | "resource"> {
  /** Such as `EndpointSlice`. */
  readonly kind: string;
}

/** Name of an object. */
export interface ObjectName {
  /** Absent for cluster-scoped kinds. */
  readonly namespace?: string;
  readonly name: string;
}

/** An object to be written, without `kind` and `apiVersion`, which depends on the served versions. */
export interface Manifest {
  readonly metadata: ObjectName;
}
