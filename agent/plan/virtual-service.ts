import { type Family, isAddress, parseAddress } from "../../api/address.ts";
import type { Scheduler } from "../../api/keys.ts";
import type { ObjectKey } from "../../api/names.ts";
import type { Protocol } from "../../api/protocol.ts";
import type { Reason } from "../../api/reasons.ts";

/** The interface between plan and backends: one port of an import in one family, independent of any kernel interface. */
export interface VirtualService {
  readonly importKey: ObjectKey;
  /** Name of the import's port; empty if it has none. */
  readonly portName: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly family: Family;
  /** Canonical addresses that clients connect to, at least one, all of `family`. */
  readonly vips: readonly string[];
  /** Name of the active tier; absent if no endpoint can take a connection. */
  readonly tier?: string;
  /** The reason for this tier, or for none. */
  readonly reason: PortReason;
  /** Endpoints of new connections, in canonical order; empty means reject. */
  readonly endpoints: readonly PlannedEndpoint[];
  /** The shares of their clusters, each divided equally among its endpoints; absent: all endpoints are equal. */
  readonly shares?: readonly Share[];
  /** Seconds for which a client keeps its endpoint, across ports with the same endpoint addresses; absent: no affinity. */
  readonly affinitySeconds?: number;
  /** IPVS scheduler; absent means the backend's default. */
  readonly scheduler?: Scheduler;
  /**
   * Endpoints, by `destination`, whose connections are kept, besides those of new ones. Absent: all. With it, conntrack entries of others
   * are deleted.
   */
  readonly keeps?: readonly string[];
  /** Endpoints, by `destination`, that get no new connections because they do not answer; absent if there are none. */
  readonly unanswering?: readonly string[];
}

/** Reasons of a port's plan. */
export type PortReason = Extract<
  Reason,
  | "nearest-ready"
  | "nearest-enough-ready"
  | "nearest-serving"
  | "nearest-unanswering"
  | "no-endpoint"
  | "no-selected-endpoint"
  | "no-endpoint-on-node"
>;

/** The share of one cluster. The weights of a service have no common divisor; their sum is at most 1,000. */
export interface Share {
  readonly cluster: string;
  /** At least 1. */
  readonly weight: number;
}

/** One endpoint that takes traffic. */
export interface PlannedEndpoint {
  /** Canonical address, of the service's family. */
  readonly address: string;
  readonly port: number;
  /** ID of the source cluster; absent if its origin is unknown. */
  readonly cluster?: string;
}

/** `ns/name:port`: the name of a port of an import in rules, logs and pages. */
export function servicePortName(service: {
  readonly importKey: ObjectKey;
  readonly portName: string;
  readonly port: number;
}): string {
  return `${service.importKey}:${service.portName === "" ? service.port : service.portName}`;
}

/** `10.1.0.1:80` or `[fd00::1]:80`. */
export function destination(address: string, port: number): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** Endpoints with one share of a service's connections, which each of them gets an equal part of. */
export interface ClusterGroup {
  /** In comparison with the other groups. */
  readonly weight: number;
  /** At least one. */
  readonly endpoints: readonly PlannedEndpoint[];
}

/** The endpoints of a service with shares, one group for each cluster, in the order of the shares. PURE. */
export function clusterGroups({
  endpoints,
  shares = [],
}: Pick<VirtualService, "endpoints" | "shares">): ClusterGroup[] {
  const byCluster = Map.groupBy(endpoints, ({ cluster }) => cluster);
  return shares.flatMap(({ cluster, weight }) => {
    const own = byCluster.get(cluster);
    return own === undefined ? [] : [{ weight, endpoints: own }];
  });
}

/** VIP, protocol and port of a service of one family as one text: `f1000001 TCP 80`. */
export type ServiceKey = string;

/** Where a service answers. */
interface Place extends Pick<VirtualService, "protocol" | "port"> {
  readonly address: string;
}

/** The key of a VIP and port; `address`: its digits. */
export function serviceKey({ address, protocol, port }: Place): ServiceKey {
  return `${address} ${protocol} ${port}`;
}

/** The keys of a service: one for each of its VIPs. */
export function keysOf({ vips, protocol, port }: VirtualService): ServiceKey[] {
  return digitsOf(vips).map((address) => serviceKey({ address, protocol, port }));
}

/** The digits of canonical addresses. */
export function digitsOf(addresses: readonly string[]): string[] {
  return addresses.flatMap((text) => {
    const address = parseAddress(text);
    return isAddress(address) ? [address.hex] : [];
  });
}
