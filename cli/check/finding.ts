import type { Cidr } from "../../api/cidr.ts";
import type { DnsWay } from "../install/dns-server.ts";
import type {
  ClusterFacts,
  HubFacts,
  Member,
  MemberFault,
  MemberFlags,
} from "../install/members.ts";
import type { ProbeResults } from "../reach/report.ts";
import type { AgentReading } from "../view/readings.ts";
import type { Platform } from "./platform.ts";

/** What a check found out about a cluster, or about two. Texts are sentences. */
export type Outcome =
  | { readonly state: "ok"; readonly found?: string }
  | {
      readonly state: "failing";
      /** `fault`: a join stops; `warning`: it continues, and something may not work. */
      readonly severity: "warning" | "fault";
      readonly found: string;
      /** What to do. Absent: as for each failure of this check. */
      readonly advice?: string;
    }
  | { readonly state: "unknown"; readonly found: string; readonly advice?: string };

/** A cluster, as far as checks concern it. */
export interface CheckedCluster {
  readonly context: string;
  readonly facts: ClusterFacts;
  readonly platform: Platform;
  /** What it is or becomes in the clusterset. Absent while `faults` prevent that. */
  readonly member?: Member;
  readonly faults: readonly MemberFault[];
  /** Rights to join that the user lacks, as sentences. Undefined: not requested, as of a member. */
  readonly missingRights?: readonly string[];
  /** Ranges of VIPs of its agents. Undefined: not known. */
  readonly clustersetCidrs?: readonly Cidr[];
  /** Its ServiceExports, and slices of Services if there are any. Undefined: not readable. */
  readonly exported?: { readonly exports: readonly unknown[]; readonly slices: readonly unknown[] };
  /** Absent before it has joined. */
  readonly agents?: {
    readonly readings: readonly AgentReading[];
    readonly desired?: number;
    /** Why its pods are not known. */
    readonly unread?: string;
  };
}

/** What a join is to make of the clusters. */
export interface JoinRequest {
  /** ID of the clusterset. */
  readonly id: string;
  /** False: the manifests are applied by others. */
  readonly manifests: boolean;
  /** What serves the names. Absent: chosen for each cluster. */
  readonly dns?: DnsWay | undefined;
}

/** The clusters that are checked together. */
export interface CheckedSet {
  readonly clusters: readonly CheckedCluster[];
  readonly hub?: HubFacts | undefined;
  readonly clustersetCidrs: readonly Cidr[];
  readonly flags: MemberFlags;
  /** Absent: of a check alone. */
  readonly join?: JoinRequest;
  /** What pods have reached. Absent: no pods were started. */
  readonly probes?: ProbeResults;
}

/** The check passed. PURE. */
export function ok(found?: string): Outcome {
  return { state: "ok", ...(found !== undefined && { found }) };
}

/** A join stops at this. PURE. */
export function fault(found: string, advice?: string): Outcome {
  return { state: "failing", severity: "fault", found, ...(advice !== undefined && { advice }) };
}

/** A join continues, and something may not work. PURE. */
export function warning(found: string, advice?: string): Outcome {
  return { state: "failing", severity: "warning", found, ...(advice !== undefined && { advice }) };
}

/** The check could not find out. PURE. */
export function unknown(found: string, advice?: string): Outcome {
  return { state: "unknown", found, ...(advice !== undefined && { advice }) };
}
