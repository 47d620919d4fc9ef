/** A kind of object on an API server, and which objects of it. */
export interface ResourceQuery {
  /** API group; empty for the core group. */
  readonly group: string;
  /** In order of preference: the first that the API server serves is used. */
  readonly versions: readonly string[];
  /** Lower-case plural of the kind: `endpointslices`. */
  readonly resource: string;
  /** Objects of this namespace alone; absent: of all. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** True: where the kind is not served, there simply is none. False: that is a fault which is waited out. */
  readonly optional?: boolean;
}
