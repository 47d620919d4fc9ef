import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Port } from "../../api/protocol.ts";
import type { TierPolicy } from "../../api/tiers/tier-policy.ts";
import type { Condition } from "./condition.ts";
import type { Drain } from "./drain.ts";
import type { OverLimit } from "./limits.ts";

/**
 * Facts are immutable and accepted by a strict parser. Equal facts give equal objects, in every cluster and after
 * every restart.
 */

/** A port of a Service, record or ServiceImport. */
export interface ServicePort extends Port {
  readonly appProtocol?: string;
}

/** The exported and merged properties of a Service (KEP-1645). */
export interface ServiceProperties {
  readonly headless: boolean;
  readonly ports: readonly ServicePort[];
  /** In the order of the Service; at least one. */
  readonly families: readonly Family[];
  readonly sessionAffinity: "ClientIP" | "None";
  /** Absent: not set. */
  readonly affinitySeconds?: number;
  readonly internalTrafficPolicy?: "Cluster" | "Local";
  readonly trafficDistribution?: string;
}

/** Exported labels and annotations. */
export interface ExportedMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A Service. */
export interface ServiceFact {
  readonly key: ObjectKey;
  /** Undefined for type ExternalName, which cannot be exported. */
  readonly properties?: ServiceProperties;
  readonly uid?: string;
  /** True: `publishNotReadyAddresses`. */
  readonly publishesUnready?: boolean;
  /** `ANNOTATION_CLUSTER_IP_FAILOVER`; absent: the Namespace decides. */
  readonly failover?: boolean;
  /** Its namespace has its share of memory, and large parts are not kept (`reduced.ts`). */
  readonly isReduced?: true;
}

/** A ServiceExport of this cluster. */
export interface ExportFact {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly generation: number;
  /** Milliseconds since 1970. */
  readonly created: number;
  readonly metadata: ExportedMetadata;
  /** By any writer. */
  readonly conditions: readonly Condition[];
  /** Its namespace has its share of memory, and large parts are not kept (`reduced.ts`). */
  readonly isReduced?: true;
}

/** An endpoint with all that other clusters need. */
export interface EndpointFact {
  /** The first address, in canonical form. */
  readonly address: string;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly zone?: string;
}

/** An EndpointSlice of a Service, of a record, or imported. */
export interface SliceFact {
  readonly key: ObjectKey;
  /** Its Service or import. */
  readonly service: ObjectKey;
  readonly family: Family;
  /** Matched with service ports by name and protocol. */
  readonly ports: readonly ServicePort[];
  readonly endpoints: readonly EndpointFact[];
  /** On a slice of a Service: the cluster that its label names. Other products add slices of other clusters to Services. */
  readonly source?: string;
}

/** The record of one exported Service. */
export interface ExportRecord extends ServiceProperties {
  /** The cluster of its registry. */
  readonly cluster: string;
  readonly key: ObjectKey;
  /** Creation of the ServiceExport in milliseconds since 1970; the oldest wins (KEP-1645). */
  readonly exported: number;
  readonly metadata: ExportedMetadata;
  /** Why slices are not published: the namespace has its share of the registry. Absent: all are. */
  readonly leftOut?: readonly OverLimit[];
}

/** Content of a cluster's Lease. */
export interface ClusterFact {
  readonly id: string;
  /** uid of namespace kube-system; differs between two clusters with one ID. */
  readonly uid: string;
  readonly clusterSet?: string;
  readonly region?: string;
  /** ClusterProperties by name (KEP-2149). */
  readonly properties: Readonly<Record<string, string>>;
  /** Lease duration in seconds. */
  readonly leaseSeconds: number;
  /** Changes with each renewal; never compared with a clock. */
  readonly renewal: string;
  /** Release of its controller; absent: it publishes none. */
  readonly version?: string;
  /** By its own operator. */
  readonly drain?: Drain;
  /** In a mesh: the ranges in which it accepts endpoints of each peer, by cluster, separated by commas. Absent: it does not say. */
  readonly accepts?: Readonly<Record<string, string>>;
  /** Exports that the registry may lack, because it rejects them; all others were in it at that renewal. Absent: it may lack any. */
  readonly completeExcept?: Exceptions | undefined;
}

/** Names as `ObjectKey`, or namespaces for all their names. */
export type Exceptions = ReadonlySet<string>;

export type ClusterState = "alive" | "stale";

/** A ServiceImport of the local cluster. */
export interface ImportFact {
  readonly key: ObjectKey;
  readonly generation: number;
  /** `ANNOTATION_IMPORT`; absent: user-managed. */
  readonly origin?: "adopted" | "created";
  /** JSON of the `spec` that a user wrote; absent if it is lost. */
  readonly authored?: string;
  /** `ANNOTATION_EXPORTS` of a managed import. */
  readonly exports?: string;
  readonly headless: boolean;
  /** Valid or not: explicit values are not changed. */
  readonly ips: readonly string[];
  /** `ANNOTATION_PREVIOUS_IPS`; none of a user-managed import. */
  readonly previousIps: readonly string[];
  readonly families: readonly Family[];
  readonly ports: readonly ServicePort[];
  readonly tiers: TierPolicy;
  /** `status.clusters`. */
  readonly clusters: readonly string[];
  readonly conditions: readonly Condition[];
  /** Its namespace has its share of memory, and large parts are not kept (`reduced.ts`). */
  readonly isReduced?: true;
}

/** A namespace. */
export interface NamespaceFact {
  readonly name: string;
  readonly uid: string;
  /** It takes no new objects. */
  readonly terminating: boolean;
  /** `ANNOTATION_CLUSTER_IP_FAILOVER`, for Services that do not have it. */
  readonly failover?: boolean;
}

/** True if two lists are equal. */
export function sameEndpoints(a: readonly EndpointFact[], b: readonly EndpointFact[]): boolean {
  return a.length === b.length && a.every((endpoint, i) => same(endpoint, b[i]));
}

function same(a: EndpointFact, b: EndpointFact | undefined): boolean {
  return (
    b !== undefined &&
    a.address === b.address &&
    a.ready === b.ready &&
    a.serving === b.serving &&
    a.terminating === b.terminating &&
    a.hostname === b.hostname &&
    a.nodeName === b.nodeName &&
    a.zone === b.zone
  );
}
