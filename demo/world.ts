import type { LabSpec } from "../test/lab/topology.ts";

/** The client's cluster and node, where the agent runs. */
export const HOME = {
  cluster: "c1",
  node: "n1",
  region: "eu-west",
  podCidrs: ["10.1.0.0/16", "fd00:10:1::/48"],
} as const;

/** The node of a cluster where its API server is, if it has one. */
export const CONTROL_PLANE = "control-plane";

/** The address of `shop/web` in the scenario. Where there are controllers, they allocate another. */
export const VIP = "241.0.1.7";

/** How far a cluster is from home. */
export type Tier = "local" | "regional" | "global";

export interface Cluster {
  readonly id: string;
  readonly region: string;
  readonly tier: Tier;
  readonly pods: readonly Pod[];
}

/** A server. `spare`: it is terminating for as long as the scenario lasts, and gets nothing while others are ready. */
export interface Pod {
  readonly name: string;
  readonly node: string;
  readonly address: string;
  readonly spare: boolean;
}

/** The clusters and servers that the scenario's slices speak of. */
export const CLUSTERS: readonly Cluster[] = [
  {
    id: "c1",
    region: "eu-west",
    tier: "local",
    pods: [pod("web-1", "n1", "10.1.0.11"), pod("web-2", "n2", "10.1.0.12")],
  },
  { id: "c2", region: "eu-west", tier: "regional", pods: [pod("web-1", "n1", "10.2.0.11")] },
  {
    id: "c3",
    region: "us-east",
    tier: "global",
    pods: [pod("web-1", "n1", "10.3.0.11"), { ...pod("web-2", "n2", "10.3.0.12"), spare: true }],
  },
];

/** The client's pod, beside the servers. */
export const CLIENT = { name: "client", address: "10.1.0.20" } as const;

/** All of it as a lab. */
export function labSpec(): LabSpec {
  return {
    clusters: CLUSTERS.map(({ id, region, pods }) => ({
      id,
      region,
      nodes: [
        ...[...new Set(pods.map(({ node }) => node))].map((name) => ({
          name,
          pods: Object.fromEntries([
            ...pods.filter(({ node }) => node === name).map((one) => [one.name, [one.address]]),
            ...(id === HOME.cluster && name === HOME.node ? [[CLIENT.name, [CLIENT.address]]] : []),
          ]),
        })),
        { name: CONTROL_PLANE },
      ],
    })),
  };
}

/** The tier of a place that attempts come to: a cluster's, or undefined for what is no cluster. */
export function tierOf(place: string): Tier | undefined {
  return CLUSTERS.find(({ id }) => id === place)?.tier;
}

function pod(name: string, node: string, address: string): Pod {
  return { name, node, address, spare: false };
}
