import { isClusterId } from "../../api/names.ts";
import type { LabSpec } from "../lab/topology.ts";

/** How kube-proxy programs the nodes. */
export const PROXY_MODES = ["iptables", "nftables"] as const;
export type ProxyMode = (typeof PROXY_MODES)[number];

/**
 * A request for clusters. The default: one cluster of one node in region `eu-west`, kube-proxy with iptables. Lists are in the order
 * of the clusters.
 */
export interface ClustersSpec {
  /** How many. */
  readonly clusters?: number;
  /** Their ids; those that are left are called cluster-1, cluster-2, … by their numbers. */
  readonly names?: readonly string[];
  /** In each cluster; they are called cluster-1-node-1, …. */
  readonly nodes?: number;
  /** Those that are left are in the last one. */
  readonly regions?: readonly string[];
  /** Those that are left have the last one. */
  readonly proxies?: readonly ProxyMode[];
}

export interface ClusterPlan {
  /** The cluster's id and its context's name: cluster-1. */
  readonly id: string;
  /** From 1 on; the second number of its pods' addresses. */
  readonly number: number;
  readonly region: string;
  readonly proxy: ProxyMode;
  readonly nodes: readonly NodePlan[];
}

export interface NodePlan {
  /** Its place in the cluster: node-1. */
  readonly place: string;
  /** The Node's name and the host's: cluster-1-node-1. */
  readonly name: string;
  readonly zone: string;
}

/** The place of a cluster's control plane: a host of its own, that is no Node. */
export const CONTROL_PLANE = "control-plane";

/** Pods of cluster 97 would have the addresses of everybody's Services. */
const MOST_CLUSTERS = 90;
const MOST_NODES = 200;

/** Decides names, regions, zones and modes. Throws on numbers, names and regions that cannot be. */
export function plansOf(spec: ClustersSpec): ClusterPlan[] {
  const clusters = within("clusters", spec.clusters ?? 1, MOST_CLUSTERS);
  const nodes = within("nodes", spec.nodes ?? 1, MOST_NODES);
  const { names = [], regions = [], proxies = [] } = spec;
  assertLabels("name", names);
  assertLabels("region", regions);
  return numbers(clusters).map((number) => {
    const id = names[number - 1] ?? `cluster-${number}`;
    const region = regions[number - 1] ?? regions.at(-1) ?? "eu-west";
    const proxy = proxies[number - 1] ?? proxies.at(-1) ?? "iptables";
    return {
      ...{ id, number, region, proxy },
      nodes: numbers(nodes).map((n) => ({
        place: `node-${n}`,
        name: `${id}-node-${n}`,
        // Three zones are what most regions have.
        zone: `${region}-${"abc".charAt((n - 1) % 3)}`,
      })),
    };
  });
}

/** The network: a control plane and the nodes of each cluster behind one router, pod ranges of all apart. */
export function labSpecOf(plans: readonly ClusterPlan[]): LabSpec {
  return {
    clusters: plans.map(({ id, region, nodes }) => ({
      id,
      region,
      nodes: [{ name: CONTROL_PLANE }, ...nodes.map(({ place }) => ({ name: place }))],
    })),
  };
}

/** All pod ranges of a cluster, one in each family: what its kube-proxy takes for its own pods. */
export function clusterCidrs({ number }: ClusterPlan): string[] {
  return [`10.${number}.0.0/16`, `fd00:10:${number}::/48`];
}

function assertLabels(what: string, texts: readonly string[]): void {
  const wrong = texts.find((text) => !isClusterId(text));
  if (wrong !== undefined) throw new Error(`${what} "${wrong}": not a DNS label`);
}

function within(what: string, value: number, most: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new Error(`${what}: ${value}: expected 1 to ${most}`);
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}
