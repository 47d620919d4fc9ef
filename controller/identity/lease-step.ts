import type { Reason } from "../../api/reasons.ts";
import type { ClusterState } from "../model/facts.ts";
import type { LeaseClaim } from "./lease-claim.ts";

/** What a publisher does about the Lease of its own registry. */
export interface LeaseStep {
  readonly reason: Extract<
    Reason,
    "lease-absent" | "lease-ours" | "lease-taken-over" | "lease-observed" | "duplicate-cluster-id"
  >;
  /**
   * `write`: the Lease is created, renewed or taken, on the resourceVersion that was seen, and records may follow.
   * `wait`: nothing is written. `contest`: nothing is written but `ANNOTATION_CONTESTED_BY` with our uid, so that the
   * other one hears of us.
   */
  readonly does: "write" | "wait" | "contest";
  /** The other cluster of our id, if one is known. */
  readonly other?: string;
}

/** How the Lease is seen to be renewed, by us or by another: a `ClusterSight`. */
export interface LeaseSight {
  readonly state: ClusterState;
  readonly reason: Reason;
}

/**
 * Who publishes under our id: we do, unless somebody else is seen to. A cluster that was built anew has another uid
 * than the one whose Lease it finds, and takes the Lease once that has been silent for its time by our own clock. If
 * the other one lives, its registry is not touched: two clusters that write there in turns would be an outage of both.
 * A namesake that was dead for long enough and wakes up finds our uid, and is the one that waits.
 *
 * The annotation is for a patch of its own, by a field manager of its own: it must neither renew the Lease nor take
 * fields away from its holder. The holder removes it once it was told; as long as the other one lives, it comes back.
 */
export function leaseStep(
  uid: string,
  lease: LeaseClaim | undefined,
  sight: LeaseSight | undefined,
): LeaseStep {
  if (lease === undefined) return { reason: "lease-absent", does: "write" };
  if (lease.uid === uid) {
    const { contestedBy } = lease;
    if (contestedBy === undefined || contestedBy === uid) {
      return { reason: "lease-ours", does: "write" };
    }
    return { reason: "duplicate-cluster-id", does: "write", other: contestedBy };
  }
  const other = lease.uid;
  if (sight?.state === "stale") return { reason: "lease-taken-over", does: "write", other };
  if (sight?.reason !== "renewing") return { reason: "lease-observed", does: "wait", other };
  return { reason: "duplicate-cluster-id", does: "contest", other };
}
