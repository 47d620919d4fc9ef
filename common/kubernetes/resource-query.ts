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
  /**
   * True: after a connection was lost, all is listed anew. What comes back may be a server that was restored from a backup and has
   * been written to since: its versions are then no older than what was seen, and going on from there misses what came before.
   */
  readonly listsAfterLoss?: boolean;
}
