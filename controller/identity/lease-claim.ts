import {
  ANNOTATION_CONTESTED_BY,
  LABEL_CLUSTER_SET,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import { isClusterId, isClusterSetId, isLabelValue } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";

/** Who says in a registry's Lease to be the cluster whose registry it is. */
export interface LeaseClaim {
  /** The cluster id that it claims; absent: it claims none, and is taken for the registry's. */
  readonly id?: string;
  /** Who renews it (`ClusterFact.uid`). */
  readonly uid: string;
  readonly clusterSet?: string;
  /** Who else would publish there (`ANNOTATION_CONTESTED_BY`). */
  readonly contestedBy?: string;
}

/**
 * Who a Lease says its holder is; undefined if nobody. Unlike `decodeCluster`, it lets a claim to another cluster's id
 * through: that is what there is to tell. What is no id, uid or clusterset counts as not said.
 */
export function leaseClaimOf(lease: unknown): LeaseClaim | undefined {
  const uid = text(fieldAt(lease, "spec", "holderIdentity"), isLabelValue);
  if (uid === undefined) return undefined;
  const metadata = fieldAt(lease, "metadata");
  const id = text(fieldAt(metadata, "labels", LABEL_SOURCE_CLUSTER), isClusterId);
  const clusterSet = text(fieldAt(metadata, "labels", LABEL_CLUSTER_SET), isClusterSetId);
  const contestedBy = text(fieldAt(metadata, "annotations", ANNOTATION_CONTESTED_BY), isLabelValue);
  return {
    uid,
    ...(id !== undefined && { id }),
    ...(clusterSet !== undefined && { clusterSet }),
    ...(contestedBy !== undefined && { contestedBy }),
  };
}

function text(value: unknown, is: (text: string) => boolean): string | undefined {
  return typeof value === "string" && is(value) ? value : undefined;
}
