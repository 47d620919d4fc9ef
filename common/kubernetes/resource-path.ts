import type { ResourceQuery } from "./resource-query.ts";

/** `group/version` as objects carry it in `apiVersion`; the core group has no name. PURE. */
export function apiVersionOf({ group }: Pick<ResourceQuery, "group">, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

/** What a list is asked for, beyond the query's own selectors. */
export interface ListOptions {
  /** Objects in a page at most. */
  readonly limit: number;
  /** Where the next page begins, as the page before it said. */
  readonly continue?: string;
  /** True: objects of any label. */
  readonly anyLabel?: boolean;
}

/**
 * The path of a list. It names no resourceVersion, so that the answer is as new as the last write: a replica
 * whose cache lags must not seem to take objects back. PURE.
 */
export function listPath(query: ResourceQuery, version: string, options: ListOptions): string {
  const parameters = selectors(query, options.anyLabel ?? false);
  parameters.set("limit", String(options.limit));
  if (options.continue !== undefined) parameters.set("continue", options.continue);
  return `${resourcePath(query, version)}?${parameters.toString()}`;
}

/** What a watch is asked for, beyond the query's own selectors. */
export interface WatchOptions {
  /** Changes after this version; undefined: first everything that exists, then a bookmark that says so. */
  readonly since: string | undefined;
  readonly timeoutSeconds: number;
}

/** The path of a watch (KEP-3157 where it begins with everything that exists). PURE. */
export function watchPath(query: ResourceQuery, version: string, options: WatchOptions): string {
  const parameters = selectors(query, false);
  parameters.set("watch", "true");
  parameters.set("allowWatchBookmarks", "true");
  parameters.set("timeoutSeconds", String(options.timeoutSeconds));
  if (options.since === undefined) {
    parameters.set("sendInitialEvents", "true");
    parameters.set("resourceVersionMatch", "NotOlderThan");
  } else parameters.set("resourceVersion", options.since);
  return `${resourcePath(query, version)}?${parameters.toString()}`;
}

/** The path of the objects of a kind, in a namespace if one is named. PURE. */
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
