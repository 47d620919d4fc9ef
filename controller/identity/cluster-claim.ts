import {
  ANNOTATION_CONTESTED_BY,
  LABEL_CLUSTER_SET,
  LABEL_SOURCE_CLUSTER,
} from "../../api/keys.ts";
import { isClusterId, isClusterSetId, isLabelValue } from "../../api/names.ts";
import { fieldAt } from "../../api/parse/fields.ts";

/** What the Lease of a registry claims. */
export interface ClusterClaim {
  /** The claimed cluster ID; absent: the registry's. */
  readonly id?: string;
  /** Its holder (`ClusterFact.uid`). */
  readonly uid: string;
  readonly clusterSet?: string;
  /** The uid of another cluster with this ID (`ANNOTATION_CONTESTED_BY`). */
  readonly contestedBy?: string;
}

/**
 * Reads the claim of a Lease; undefined without a holder. Unlike `decodeCluster`, it accepts a wrong cluster ID, in
 * order to report it. Invalid fields count as absent.
 */
export function clusterClaimOf(lease: unknown): ClusterClaim | undefined {
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
