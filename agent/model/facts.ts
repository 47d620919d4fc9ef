import type { Address, Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { HealthScope } from "../../api/health.ts";
import type { Scheduler } from "../../api/keys.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Port } from "../../api/protocol.ts";
import type { Shift } from "../../api/shift.ts";
import type { ClusterSelector } from "../../api/tiers/cluster-selectors.ts";
import type { Endpoints } from "./endpoints.ts";

export type { Port } from "../../api/protocol.ts";
export type { EndpointCondition, EndpointFact } from "./endpoints.ts";

/** Facts: one immutable value per Kubernetes object, validated by a strict parser. */

/** Preference of an import inside the active tier (KEP-4444, KEP-3015). */
export type TrafficDistribution = "PreferSameZone" | "PreferSameNode";

/** A ServiceImport. */
export interface ImportFact {
  readonly key: ObjectKey;
  /** Milliseconds since 1970; `Infinity` if the object has no creationTimestamp (a manifest). */
  readonly created: number;
  readonly headless: boolean;
  /** `spec.ips` in the order of the object, then previous VIPs. The plan decides whether a node may use them. */
  readonly vips: readonly Address[];
  /** Those of `vips` that the import had before its ClusterSet CIDR changed, as `Address.text`; absent if there are none. */
  readonly previousVips?: readonly string[];
  readonly ports: readonly Port[];
  /** Seconds for which a client keeps its endpoint; absent without ClientIP affinity. */
  readonly affinitySeconds?: number;
  readonly trafficDistribution?: TrafficDistribution;
  /** Preferred clusters, nearest first; absent means the built-in tiers, an empty list no preference. */
  readonly selectors?: readonly ClusterSelector[];
  /** Present if clusters that no selector matches get no traffic. */
  readonly onlySelected?: true;
  /** Shares of the clusters of a tier, without a common divisor; a cluster that is not named has 0. Absent: all endpoints are equal. */
  readonly clusterWeights?: ReadonlyMap<string, number>;
  /** Ready endpoints without which a tier does not count; absent: one. */
  readonly minReady?: MinReady;
  /** `internalTrafficPolicy: Local`: endpoints on this node only. */
  readonly nodeLocal: boolean;
  /** Handling of TCP connections to an endpoint that no slice lists any more; absent means they are kept. */
  readonly onEndpointDeath?: "reset";
  /** Present if UDP entries of ready endpoints that get no new clients are deleted. */
  readonly udp?: "follow";
  /** IPVS scheduler; absent means the agent's `--ipvs-scheduler`. */
  readonly scheduler?: Scheduler;
  /** Whose endpoints are used last while they do not answer; absent means the agent's `--health`. */
  readonly health?: HealthScope;
}

/** An imported EndpointSlice. */
export interface SliceFact {
  readonly key: ObjectKey;
  /** The ServiceImport that it belongs to, in its own namespace. */
  readonly importKey: ObjectKey;
  /** Absent if the slice names no source cluster. */
  readonly cluster?: string;
  /** Present if the controller of this project manages the slice. */
  readonly ours?: true;
  readonly region?: string;
  /** Properties of the source cluster, by name; absent if the slice has none. */
  readonly properties?: ReadonlyMap<string, string>;
  /** False: the slice is not used. */
  readonly active: boolean;
  readonly family: Family;
  readonly ports: readonly Port[];
  readonly endpoints: Endpoints;
  /** Present if endpoints were left out, because the slices of the namespace have too many. */
  readonly omitted?: true;
  /** Present if nodes adopt the conditions one by one. */
  readonly shift?: Shift;
  /** Present in a view while this node does not follow `shift` yet. */
  readonly waits?: true;
}

/** This node's Node object. */
export interface NodeObjectFact {
  readonly region?: string;
  readonly zone?: string;
  /** Ranges of the pods on this node. */
  readonly podCidrs: readonly Cidr[];
  /** Canonical addresses. */
  readonly addresses: readonly string[];
}

/** A ClusterProperty of this cluster (KEP-2149). */
export interface PropertyFact {
  readonly name: string;
  readonly value: string;
}

/** Addresses and ranges that this node's cluster uses besides those of the node: no explicit VIP may be one of them. */
export interface ClusterNetwork {
  /** Service ranges, and the pod ranges of all Nodes. */
  readonly ranges: readonly Cidr[];
  /** Canonical addresses of all Nodes and of the API servers. */
  readonly addresses: ReadonlySet<string>;
}

/** The observed state of this node and its cluster, in addition to flags. */
export interface NodeObservation {
  /** Absent if there is no Node object or no API server. */
  readonly object?: NodeObjectFact | undefined;
  /** Addresses of the node's interfaces with their prefix, such as `192.0.2.7/24`; absent until the first read. */
  readonly addresses?: readonly string[];
  /** Absent until the first list, and where explicit VIPs are not allowed. */
  readonly network?: ClusterNetwork;
  /** Values of this cluster's ClusterProperties by name (KEP-2149). */
  readonly properties: ReadonlyMap<string, string>;
}

/** This node and its network: flags and observations combined. */
export interface NodeFact {
  readonly name: string;
  /** This node's cluster; absent means that no endpoint is ever `local`. */
  readonly cluster?: string;
  readonly region?: string;
  readonly zone?: string;
  /** Region by cluster ID, from a flag: takes precedence over labels of slices. */
  readonly clusterRegions: ReadonlyMap<string, string>;
  /** Ranges of other clusters' endpoints by cluster ID, as the controller publishes them; no entry means no check. */
  readonly endpointRanges: ReadonlyMap<string, readonly Cidr[]>;
  /** This cluster's properties by name (KEP-2149), except its ID and region; may be empty. */
  readonly properties: ReadonlyMap<string, string>;
  /** Whose endpoints are used last while they do not answer, of imports without an annotation. */
  readonly health: HealthScope;
  /** One range per family, or two; a family without one is not programmed. */
  readonly clusterSetCidrs: readonly Cidr[];
  /** Allowed ranges of explicit VIPs; empty allows none. */
  readonly explicitVipCidrs: readonly Cidr[];
  readonly podCidrs: readonly Cidr[];
  /** Pod ranges of this node; empty if its Node object is unknown or has none. */
  readonly nodePodCidrs: readonly Cidr[];
  readonly serviceCidrs: readonly Cidr[];
  /** Subnets of the node's interfaces. */
  readonly subnets: readonly Cidr[];
  readonly network: ClusterNetwork;
  /** Canonical addresses of the node and of the API server. */
  readonly reservedAddresses: ReadonlySet<string>;
}

/** How many endpoints of a tier have to be ready: a number, or a part of those that its slices list. */
export type MinReady = { readonly endpoints: number } | { readonly percent: number };
