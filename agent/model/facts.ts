import type { Address, Family } from "../../api/address.ts";
import type { Cidr } from "../../api/cidr.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Port } from "../../api/port.ts";
import type { Scheduler } from "../../api/scheduler.ts";
import type { ClusterSelector } from "./cluster-selector.ts";
import type { Endpoints } from "./endpoints.ts";

export type { Port } from "../../api/port.ts";
export type { EndpointCondition, EndpointFact } from "./endpoints.ts";

/**
 * Facts: what the agent believes about the world, one immutable value per object. A fact exists only if a
 * strict parser accepted it, so everything inward of this file may trust every string in it.
 */

/** How an import wants its traffic narrowed inside the active tier (KEP-4444, KEP-3015). */
export type TrafficDistribution = "PreferSameZone" | "PreferSameNode";

/** A ServiceImport. */
export interface ImportFact {
  readonly key: ObjectKey;
  /** Milliseconds since 1970; `Infinity` if the object has no creationTimestamp (a manifest). */
  readonly created: number;
  readonly headless: boolean;
  /** `spec.ips` in the order of the object. Whether a node may use them is for the plan to say. */
  readonly vips: readonly Address[];
  readonly ports: readonly Port[];
  /** Seconds for which a client keeps its endpoint; absent without ClientIP affinity. */
  readonly affinitySeconds?: number;
  readonly trafficDistribution?: TrafficDistribution;
  /** Who is preferred, nearest first; absent means the built-in tiers, an empty list that all are alike. */
  readonly selectors?: readonly ClusterSelector[];
  /** `internalTrafficPolicy: Local`: endpoints of this very node, or none. */
  readonly nodeLocal: boolean;
  /** What becomes of TCP connections to an endpoint that is gone from every slice; absent means they are kept. */
  readonly onEndpointDeath?: "reset";
  /** How connections are spread, where a backend has the choice; absent means as the node's agent is told. */
  readonly scheduler?: Scheduler;
}

/** An imported EndpointSlice. */
export interface SliceFact {
  readonly key: ObjectKey;
  /** The ServiceImport that it belongs to, in its own namespace. */
  readonly importKey: ObjectKey;
  /** Absent if nothing says where the slice comes from. */
  readonly cluster?: string;
  readonly region?: string;
  /** What the source cluster says of itself, by name; absent if it says nothing. */
  readonly properties?: ReadonlyMap<string, string>;
  /** False: the slice is kept, and not used. */
  readonly active: boolean;
  readonly family: Family;
  readonly ports: readonly Port[];
  readonly endpoints: Endpoints;
}

/** What this node's own Node object says. */
export interface NodeObjectFact {
  readonly region?: string;
  readonly zone?: string;
  /** Ranges of the pods on this node. */
  readonly podCidrs: readonly Cidr[];
  /** Canonical addresses. */
  readonly addresses: readonly string[];
}

/** A ClusterProperty (KEP-2149): something that this cluster says of itself. */
export interface PropertyFact {
  readonly name: string;
  readonly value: string;
}

/** What is seen of this node and its cluster while the agent runs, beside what the operator said. */
export interface NodeSight {
  /** Absent if there is no such Node object, or nobody to ask. */
  readonly object?: NodeObjectFact;
  /** Of the node's interfaces, as the kernel spells them; absent before they were read. */
  readonly addresses?: readonly string[];
  /** Values of this cluster's ClusterProperties by name (KEP-2149). */
  readonly properties: ReadonlyMap<string, string>;
}

/** What this node is, and what the operator said about the network around it. */
export interface NodeFact {
  readonly name: string;
  /** This node's cluster; absent means that no endpoint is ever `local`. */
  readonly cluster?: string;
  readonly region?: string;
  readonly zone?: string;
  /** Region by cluster id, said by the operator: overrules what slices claim. */
  readonly clusterRegions: ReadonlyMap<string, string>;
  /** This cluster's properties by name (KEP-2149), beside its id and region; empty if nobody told. */
  readonly properties: ReadonlyMap<string, string>;
  /** One range per family; a family without one is not programmed. */
  readonly clusterSetCidrs: readonly Cidr[];
  /** Ranges that explicit VIPs may lie in; empty means anywhere that is not reserved. */
  readonly explicitVipCidrs: readonly Cidr[];
  readonly podCidrs: readonly Cidr[];
  /** Ranges of the pods on this very node; empty if its Node object is not known, or names none. */
  readonly nodePodCidrs: readonly Cidr[];
  readonly serviceCidrs: readonly Cidr[];
  /** Canonical addresses of the node and of the API server. */
  readonly reservedAddresses: ReadonlySet<string>;
}
