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
  /** Maximum objects, which owners share: what is beyond is left out. Default: 200,000. */
  readonly most?: number;
  /** Maximum objects of an owner; not of objects without a namespace, which share with nobody. Default: half. */
  readonly mostOfOwner?: number;
  /** The owner of an object. Default: its namespace. */
  readonly ownerOf?: (key: string) => string;
}

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

/** The `apiVersion` of objects: `group/version`, or `version` in the core group. PURE. */
export function apiVersionOf({ group }: Pick<ResourceQuery, "group">, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Options of a list. */
export interface ListOptions {
  /** Maximum objects per page. */
  readonly limit: number;
  /** The `continue` token of the previous page. */
  readonly continue?: string;
  /** True: ignores the label selector. */
  readonly anyLabel?: boolean;
}

/** The path of a list, without a resourceVersion: a lagging cache must not make objects disappear. PURE. */
export function listPath(query: ResourceQuery, version: string, options: ListOptions): string {
  const parameters = selectors(query, options.anyLabel ?? false);
  parameters.set("limit", String(options.limit));
  if (options.continue !== undefined) parameters.set("continue", options.continue);
  return `${resourcePath(query, version)}?${parameters.toString()}`;
}

/** The path of a watch from the resourceVersion `since`; undefined: initial events, then a bookmark (KEP-3157). PURE. */
export function watchPath(
  query: ResourceQuery,
  version: string,
  timeoutSeconds: number,
  since: string | undefined,
): string {
  const parameters = selectors(query, false);
  parameters.set("watch", "true");
  parameters.set("allowWatchBookmarks", "true");
  parameters.set("timeoutSeconds", String(timeoutSeconds));
  if (since === undefined) {
    parameters.set("sendInitialEvents", "true");
    parameters.set("resourceVersionMatch", "NotOlderThan");
  } else parameters.set("resourceVersion", since);
  return `${resourcePath(query, version)}?${parameters.toString()}`;
}

/** The path of a resource, in a namespace if it is set. PURE. */
export function resourcePath(
  { group, resource, namespace }: Pick<ResourceQuery, "group" | "resource" | "namespace">,
  version: string,
): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const inside = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  return `${root}${inside}/${resource}`;
}

function selectors(query: ResourceQuery, anyLabel: boolean): URLSearchParams {
  const parameters = new URLSearchParams();
  if (query.labelSelector !== undefined && !anyLabel) {
    parameters.set("labelSelector", query.labelSelector);
  }
  if (query.fieldSelector !== undefined) parameters.set("fieldSelector", query.fieldSelector);
  return parameters;
}
