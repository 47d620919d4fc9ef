import { LABEL_RECORD, LABEL_SOURCE_CLUSTER } from "../../api/keys.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Complaints } from "../../api/parse/complaints.ts";
import { fieldAt, isUnset } from "../../api/parse/fields.ts";
import type { NamespaceScope } from "../model/peer-scope.ts";
import type { EndpointRanges } from "../model/slice-content.ts";
import { recordLabel } from "./names.ts";

/** The registry of one cluster. */
export interface Registry extends EndpointRanges {
  /** Owner of all objects in it, whatever they say. */
  readonly cluster: string;
  readonly namespace: string;
  /** Namespaces of the Services that the cluster may export; absent: all. */
  readonly namespaces?: NamespaceScope;
}

/** True for a record or a slice of one; other objects in a registry are ignored. */
export function isRecordObject(object: unknown): boolean {
  return !isUnset(fieldAt(object, "metadata", "labels", LABEL_RECORD));
}

/**
 * True if an object is in the right namespace, under a name and label of `service` (undefined: the name is invalid),
 * and of no other cluster.
 */
export function isValidMetadata(
  object: unknown,
  service: ObjectKey | undefined,
  registry: Pick<Registry, "cluster" | "namespace">,
  complaints: Complaints,
): service is ObjectKey {
  const metadata = fieldAt(object, "metadata");
  const label = fieldAt(metadata, "labels", LABEL_RECORD);
  if (fieldAt(metadata, "namespace") !== registry.namespace) {
    complaints.add("misplaced", "metadata.namespace", fieldAt(metadata, "namespace"));
  } else if (service === undefined) {
    complaints.add("misplaced", "metadata.name", fieldAt(metadata, "name"));
  } else if (label !== recordLabel(service)) {
    complaints.add("misplaced", `metadata.labels[${LABEL_RECORD}]`, label);
  } else {
    return isFromCluster(object, registry.cluster, complaints);
  }
  return false;
}

/** False if an object names another cluster than that of its registry. */
export function isFromCluster(object: unknown, cluster: string, complaints: Complaints): boolean {
  const claimed = fieldAt(object, "metadata", "labels", LABEL_SOURCE_CLUSTER);
  if (isUnset(claimed) || claimed === cluster) return true;
  complaints.add("foreign-cluster", `metadata.labels[${LABEL_SOURCE_CLUSTER}]`, claimed);
  return false;
}
