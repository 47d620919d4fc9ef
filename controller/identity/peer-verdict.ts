import type { Reason } from "../../api/reasons.ts";
import type { ClusterClaim } from "./cluster-claim.ts";
import type { Identity } from "./own-identity.ts";

/** Whether the records of a registry are used. */
export interface PeerVerdict {
  readonly reason: Extract<
    Reason,
    "member" | "not-introduced" | "id-mismatch" | "duplicate-cluster-id" | "other-clusterset"
  >;
  /** `use`: merged. `keep`: nothing new is used, and imports stay. `drop`: ignored, as if nothing was exported. */
  readonly records: "use" | "keep" | "drop";
  /** Explanation; may be absent. */
  readonly detail?: string;
}

/**
 * Evaluates the Lease of a registry; undefined: none yet. `cluster` is the configured ID, `own` and `uid` are ours. A
 * missing clusterset contradicts none.
 */
export function peerVerdict(
  cluster: string,
  lease: ClusterClaim | undefined,
  own: Identity,
  uid: string,
): PeerVerdict {
  if (lease === undefined) return { reason: "not-introduced", records: "keep" };
  const { id = cluster, clusterSet, contestedBy } = lease;
  if (id !== cluster) {
    const detail = `Known here as ${cluster}, but its Lease names ${id}`;
    return { reason: "id-mismatch", records: "keep", detail };
  }
  if (cluster === own.id && lease.uid !== uid) {
    const detail = `Another cluster (${lease.uid}) has our cluster ID ${own.id}`;
    return { reason: "duplicate-cluster-id", records: "keep", detail };
  }
  if (cluster !== own.id && lease.uid === uid) {
    const detail = `Known here as ${cluster}, but it is this cluster, ${own.id}`;
    return { reason: "id-mismatch", records: "keep", detail };
  }
  if (clusterSet !== undefined && own.clusterSet !== undefined && clusterSet !== own.clusterSet) {
    const detail = `A member of clusterset ${clusterSet}, not of ours, ${own.clusterSet}`;
    return { reason: "other-clusterset", records: "drop", detail };
  }
  if (contestedBy !== undefined && contestedBy !== lease.uid) {
    // The first cluster continues; the other has written only the annotation.
    const detail = `Another cluster (${contestedBy}) also has the ID ${cluster}`;
    return { reason: "duplicate-cluster-id", records: "use", detail };
  }
  return { reason: "member", records: "use" };
}
