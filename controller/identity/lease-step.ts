import type { Reason } from "../../api/reasons.ts";
import type { ClusterState } from "../model/facts.ts";
import type { ClusterClaim } from "./cluster-claim.ts";

/** The action on the Lease of the own registry. */
export interface LeaseStep {
  readonly reason: Extract<
    Reason,
    "lease-absent" | "lease-ours" | "lease-taken-over" | "lease-observed" | "duplicate-cluster-id"
  >;
  /**
   * `write`: create, renew or take the Lease, and publish. `wait`: write nothing. `contest`: write only
   * `ANNOTATION_CONTESTED_BY` with our uid.
   */
  readonly does: "write" | "wait" | "contest";
  /** uid of another cluster with our ID. */
  readonly other?: string;
}

/**
 * Decides which of two clusters with one ID publishes. `status`: whether the Lease is renewed, by any holder. A rebuilt
 * cluster has another uid and takes the Lease once it
 * has expired by our own clock. While the other cluster renews it, nothing is written to its registry.
 *
 * The annotation has a field manager of its own, so that it neither renews the Lease nor takes fields from its
 * holder.
 */
export function leaseStep(
  uid: string,
  lease: ClusterClaim | undefined,
  status: { readonly state: ClusterState; readonly reason: Reason } | undefined,
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
  if (status?.state === "stale") return { reason: "lease-taken-over", does: "write", other };
  if (status?.reason !== "renewing") return { reason: "lease-observed", does: "wait", other };
  return { reason: "duplicate-cluster-id", does: "contest", other };
}
