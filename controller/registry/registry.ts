import type { NamespaceScope } from "../model/peer-scope.ts";
import type { EndpointRanges } from "../model/slice-content.ts";

/** The registry of one cluster. */
export interface Registry extends EndpointRanges {
  /** Owner of all objects in it, whatever they say. */
  readonly cluster: string;
  readonly namespace: string;
  /** Namespaces of the Services that the cluster may export; absent: all. */
  readonly namespaces?: NamespaceScope;
}
