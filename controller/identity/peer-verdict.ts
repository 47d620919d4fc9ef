import type { Reason } from "../../api/reasons.ts";
import type { LeaseClaim } from "./lease-claim.ts";
import type { Identity } from "./own-identity.ts";

/** What is made of a registry that is read. */
export interface PeerVerdict {
  readonly reason: Extract<
    Reason,
    "member" | "not-introduced" | "id-mismatch" | "duplicate-cluster-id" | "other-clusterset"
  >;
  /**
   * What becomes of its records. `use`: they are merged. `keep`: nothing new is believed, and what was imported stays,
   * as of a cluster that has not listed. `drop`: it exports nothing to us.
   */
  readonly records: "use" | "keep" | "drop";
  /** For people; absent where there is nothing to add. */
  readonly detail?: string;
}

/**
 * Whether what lies in a cluster's registry is believed, by its Lease; undefined: it has none yet. `cluster` is the id
 * that we know the registry by (the label of its Secret, or of its namespace on the hub), `own` and `uid` are ours.
 * A clusterset that either side does not name contradicts none.
 */
export function peerVerdict(
  cluster: string,
  lease: LeaseClaim | undefined,
  own: Identity,
  uid: string,
): PeerVerdict {
  if (lease === undefined) return { reason: "not-introduced", records: "keep" };
  const { id = cluster, clusterSet, contestedBy } = lease;
  if (id !== cluster) {
    const detail = `It is known here as ${cluster}, and calls itself ${id}`;
    return { reason: "id-mismatch", records: "keep", detail };
  }
  if (cluster === own.id && lease.uid !== uid) {
    const detail = `Another cluster (${lease.uid}) has our id ${own.id}`;
    return { reason: "duplicate-cluster-id", records: "keep", detail };
  }
  if (cluster !== own.id && lease.uid === uid) {
    const detail = `What is known here as ${cluster} is this very cluster, ${own.id}`;
    return { reason: "id-mismatch", records: "keep", detail };
  }
  if (clusterSet !== undefined && own.clusterSet !== undefined && clusterSet !== own.clusterSet) {
    const detail = `It is a member of ${clusterSet}, and we are of ${own.clusterSet}`;
    return { reason: "other-clusterset", records: "drop", detail };
  }
  if (contestedBy !== undefined && contestedBy !== lease.uid) {
    // Who was there first goes on: the other one has written nothing but this.
    const detail = `Another cluster (${contestedBy}) has the id ${cluster} as well`;
    return { reason: "duplicate-cluster-id", records: "use", detail };
  }
  return { reason: "member", records: "use" };
}
