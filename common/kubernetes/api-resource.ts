import type { ResourceQuery } from "./resource-query.ts";

/** A kind of object, as whoever reads or writes single ones has to name it. */
export interface ApiResource extends Pick<ResourceQuery, "group" | "versions" | "resource"> {
  /** As objects carry it: `EndpointSlice`. */
  readonly kind: string;
}

/** Which object of a kind. */
export interface ObjectName {
  /** Absent where the kind has no namespaces. */
  readonly namespace?: string;
  readonly name: string;
}

/** An object to be written. Its `kind` and `apiVersion` are added: in which version, the API server decides. */
export interface Manifest {
  readonly metadata: ObjectName;
}
