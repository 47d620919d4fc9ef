import type { Cidr } from "../../api/cidr.ts";
import type { RegistryMode } from "./manifests.ts";
import type { FoundRanges } from "./ranges.ts";

/** What a cluster's Secret says of a peer. */
export interface KnownPeer {
  readonly cluster: string;
  /** Name of the Secret. */
  readonly secret: string;
  readonly server?: string;
  /** As the annotation has them. */
  readonly endpointCidrs?: string;
}

/** What join, leave, rotate and upgrade read of a cluster before they change anything. */
export interface ClusterFacts {
  readonly context: string;
  /** URL of its API server, as the kubeconfig has it. */
  readonly address: string;
  /** CA of its API server, PEM in base64, as its pods get it; absent: unknown. */
  readonly ca?: string;
  /** Minor version of its Kubernetes 1. */
  readonly minor: number;
  /** uid of its namespace kube-system: two contexts may be one cluster. */
  readonly uid: string;
  /** Its ClusterProperties. */
  readonly clusterId?: string;
  readonly clusterSet?: string;
  readonly region?: string;
  /** Regions of its Nodes' labels. */
  readonly nodeRegions: readonly string[];
  /** podCIDRs of its Nodes. */
  readonly podCidrs: readonly Cidr[];
  /** The ranges that its network is configured with, else those around its Nodes' podCIDRs. */
  readonly found?: FoundRanges;
  /** Ranges of ClusterIPs; empty before Kubernetes 1.33. */
  readonly serviceCidrs: readonly Cidr[];
  /** Of its controller, if it has one. */
  readonly mode?: RegistryMode;
  /** Images of its agent and controller, if it has them. */
  readonly images: Readonly<Record<string, string>>;
  /** Image of the CoreDNS in kube-system; undefined if there is none, or its name is another. */
  readonly coreDns?: string;
  /** Components that joins have added to its programs. */
  readonly components: readonly string[];
  /** Where others reach it, and its ranges, by earlier joins: annotations of its own registry. Absent on a hub. */
  readonly declared?: { readonly server?: string; readonly endpointCidrs?: string };
  /** Peers that it has Secrets for: what it says of others, which is a source for nothing but itself. */
  readonly peers: readonly KnownPeer[];
  /** URL of its hub, if it has a Secret for one. */
  readonly hub?: string;
}

/** What is read of a hub. */
export interface HubFacts {
  readonly context: string;
  readonly address: string;
  readonly ca?: string;
  readonly uid: string;
  /** Ranges of members, as annotations have them, by cluster ID. */
  readonly members: ReadonlyMap<string, string | undefined>;
}
