/** A resource of an API server, and which of its objects. */
export interface ResourceQuery {
  /** API group; empty for the core group. */
  readonly group: string;
  /** In order of preference; the first served one is used. */
  readonly versions: readonly string[];
  /** Lower-case plural of the kind: `endpointslices`. */
  readonly resource: string;
  /** Default: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** True: if the resource is not served, it has no objects. Default: that is a fault, with retries. */
  readonly optional?: boolean;
  /** True: relists after each lost connection. A server restored from a backup may have reached the same versions again. */
  readonly listsAfterLoss?: boolean;
  /** True: few clients send it, so a rejected one is sent again within 5 s. Default: 30 s, as all nodes may send it. */
  readonly isRare?: boolean;
  /** Maximum objects: if there are more, nothing is watched, and what is known stays. Default: 200,000. */
  readonly most?: number;
}
