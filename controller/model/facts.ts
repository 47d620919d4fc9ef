import type { Family } from "../../api/address.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Port } from "../../api/port.ts";
import type { Condition } from "./condition.ts";

/**
 * Facts: what the controller believes about the world, one immutable value per object. A fact exists only if a strict
 * parser accepted it. The same facts give the same objects, in every cluster and after every restart.
 */

/** A port as a Service, a record and a ServiceImport show it to clients. */
export interface ServicePort extends Port {
  readonly appProtocol?: string;
}

/** What KEP-1645 exports of a Service, and merges. */
export interface ServiceProperties {
  readonly headless: boolean;
  readonly ports: readonly ServicePort[];
  /** In the order of the Service; at least one. */
  readonly families: readonly Family[];
  readonly sessionAffinity: "ClientIP" | "None";
  /** `sessionAffinityConfig.clientIP.timeoutSeconds`; absent where it is not said. */
  readonly affinitySeconds?: number;
  readonly internalTrafficPolicy?: "Cluster" | "Local";
  /** As the Service spells it. */
  readonly trafficDistribution?: string;
}

/** Labels and annotations that an export asks to be carried (`spec.exportedLabels`, `spec.exportedAnnotations`). */
export interface ExportedMetadata {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A Service, as far as exporting it goes. */
export interface ServiceFact {
  readonly key: ObjectKey;
  /** Undefined: of type ExternalName, which cannot be exported. */
  readonly properties?: ServiceProperties;
}

/** A ServiceExport of this cluster. */
export interface ExportFact {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly generation: number;
  /** Milliseconds since 1970. */
  readonly created: number;
  readonly metadata: ExportedMetadata;
  /** Of its status: whoever wrote them. */
  readonly conditions: readonly Condition[];
}

/** An endpoint with what is needed to use it from another cluster. */
export interface EndpointFact {
  /** Canonical; the first is what consumers use. */
  readonly address: string;
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly hostname?: string;
  readonly nodeName?: string;
  readonly zone?: string;
}

/** An EndpointSlice: of a Service, of a record, or imported. */
export interface SliceFact {
  readonly key: ObjectKey;
  /** The Service, or import, that it belongs to. */
  readonly service: ObjectKey;
  readonly family: Family;
  /** Where its endpoints listen; joined to service ports by name and protocol. */
  readonly ports: readonly ServicePort[];
  readonly endpoints: readonly EndpointFact[];
}

/** What one cluster publishes of one exported service. */
export interface ExportRecord extends ServiceProperties {
  /** Whose registry it lies in. */
  readonly cluster: string;
  /** The exported Service. */
  readonly key: ObjectKey;
  /** When the ServiceExport was created, milliseconds since 1970: the oldest wins (KEP-1645). */
  readonly exported: number;
  readonly metadata: ExportedMetadata;
}

/** What a cluster's Lease in its registry says. */
export interface ClusterFact {
  /** The cluster id. */
  readonly id: string;
  /** What tells two clusters of one id apart: the uid of namespace kube-system. */
  readonly uid: string;
  readonly clusterSet?: string;
  readonly region?: string;
  /** ClusterProperties by name (KEP-2149). */
  readonly properties: Readonly<Record<string, string>>;
  /** Seconds without a renewal after which it is stale. */
  readonly leaseSeconds: number;
  /** Changes with every renewal; of no other meaning, its clock is not ours. */
  readonly renewal: string;
  /** It has seen, at that renewal, that all that it exports lies in its registry. */
  readonly complete: boolean;
}

/** How a cluster is seen from here. */
export type ClusterState = "alive" | "stale";

/** A ServiceImport of this cluster, whoever made it. */
export interface ImportFact {
  readonly key: ObjectKey;
  readonly generation: number;
  /** How the controller came by it (`ANNOTATION_IMPORT`); absent: it is somebody's own. */
  readonly origin?: "adopted" | "created";
  /** Of one that the controller did not make: its `spec` as its author wrote it, in JSON; absent if that is lost. */
  readonly authored?: string;
  readonly headless: boolean;
  /** As they stand there, whether they are addresses or not: what is explicit is nobody else's to change. */
  readonly ips: readonly string[];
  /** Empty if it names none. */
  readonly families: readonly Family[];
  readonly ports: readonly ServicePort[];
  /** `status.clusters`: who exported it, when that was last written. */
  readonly clusters: readonly string[];
  readonly conditions: readonly Condition[];
}

/** A namespace of this cluster. */
export interface NamespaceFact {
  readonly name: string;
  readonly uid: string;
  /** It is being deleted, and takes no new objects. */
  readonly terminating: boolean;
}
