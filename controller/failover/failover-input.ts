import type { Cidr } from "../../api/cidr.ts";
import type { Origin } from "../../api/tiers/cluster-selectors.ts";
import type { TierPolicy } from "../../api/tiers/tier-policy.ts";
import type { Contribution } from "../import/imported-slices.ts";
import type { MergedService } from "../merge/merged.ts";
import type { ServiceFact } from "../model/facts.ts";
import type { FailoverSliceFact } from "../model/parse-failover-slice.ts";
import type { LocalEndpoints } from "./local-endpoints.ts";

/** Input of `failoverOf`. */
export interface FailoverInput {
  readonly service: ServiceFact & { readonly uid: string };
  /** The merged exports of all clusters; absent: none. */
  readonly merged?: MergedService;
  readonly contributions: readonly Contribution[];
  /** True if no unknown cluster that took part before can export the name. */
  readonly allSynced: boolean;
  /** True if it is known what every cluster exports. */
  readonly everySynced: boolean;
  /** The other clusters. */
  readonly others: readonly string[];
  /** Tiers of the ServiceImport here; absent: it does not exist yet. */
  readonly tiers?: TierPolicy;
  /** This cluster. */
  readonly here: Origin;
  /** The declared endpoint ranges of other clusters. */
  readonly declared: ReadonlyMap<string, readonly Cidr[]>;
  /** The present failover slices of the Service. */
  readonly present: readonly FailoverSliceFact[];
  readonly local: LocalEndpoints;
  /** True if it is known what a cluster exports. */
  readonly isSynced: (cluster: string) => boolean;
  /** False for a cluster that is stale or drained. */
  readonly isInRotation: (cluster: string) => boolean;
}
