import type { Cidr } from "../../api/cidr.ts";
import {
  isClusterId,
  isClusterSetId,
  isLabelName,
  isLabelValue,
  isSubdomainName,
} from "../../api/names.ts";
import type { FlagTable, ValuesOf } from "../../common/config/flag.ts";
import { LOG_FLAGS, SHOWN } from "../../common/config/log-flags.ts";
import {
  cidrs,
  clusterSetCidrs,
  listenAddress,
  oneOf,
  optional,
  type Reader,
  seconds,
  text,
} from "../../common/config/values.ts";
import { type Span, usableSpan } from "../allocate/pool.ts";
import { LEASE_SECONDS } from "../liveness/cluster-watch.ts";
import { LEASE_CHOICE } from "../liveness/lease-times.ts";

/** Where clusters publish: each on its own API server, or all on a hub. */
export const REGISTRIES = ["mesh", "hub"] as const;
/** One of `REGISTRIES`. */
export type RegistryKind = (typeof REGISTRIES)[number];

const OBJECTS = "Where objects are";
const CLUSTER = "This cluster";
const NETWORK = "The network around it";
const REPLICAS = "How it stays alive";

const file = optional(text((path) => !path.includes("\0"), "expected a file"));

/** Where VIPs come from: an agent may be told of one address, but nothing can be allocated there. */
const vipRanges: Reader<readonly Cidr[]> = (given) => {
  const read = clusterSetCidrs(given);
  if ("expected" in read) return read;
  const empty = read.value.map((cidr) => ({ cidr, ...usableSpan(cidr) })).find(isEmpty);
  return empty === undefined
    ? read
    : { expected: `${empty.cidr.text} has no address that can be a VIP; expected a wider range` };
};

/** Every flag: parsing, environment, defaults and help are made from this table. */
export const FLAGS = {
  kubeconfig: {
    name: "kubeconfig",
    group: OBJECTS,
    placeholder: "PATH",
    about: "Kubeconfig of this cluster's API server; in a pod, its service account needs none",
    read: file,
    default: "",
  },
  namespace: {
    name: "namespace",
    group: OBJECTS,
    placeholder: "NAME",
    about: "Namespace of the controller's own objects: its Lease, and the Secrets of peers",
    read: text(isLabelName, "expected a namespace"),
    default: "clusterset-proxy",
  },
  registry: {
    name: "registry",
    group: OBJECTS,
    placeholder: "WHERE",
    about: "Where clusters publish: mesh, each on its own API server, or hub, all on one",
    read: oneOf(REGISTRIES),
    default: "mesh",
  },
  hubKubeconfig: {
    name: "hub-kubeconfig",
    group: OBJECTS,
    placeholder: "PATH",
    about: "Kubeconfig of the hub's API server, for --registry hub",
    read: file,
    default: "",
  },
  cluster: {
    name: "cluster-id",
    group: CLUSTER,
    placeholder: "ID",
    about:
      "Id of this cluster; becomes ClusterProperty cluster.clusterset.k8s.io, or must equal it",
    read: optional(text(isClusterId, "expected a cluster id (one lower-case DNS label, or two)")),
    default: "",
  },
  clusterSet: {
    name: "clusterset-id",
    group: CLUSTER,
    placeholder: "ID",
    about: "Id of the clusterset; becomes ClusterProperty clusterset.k8s.io, or must equal it",
    read: optional(text(isClusterSetId, "expected a clusterset id (a Kubernetes label value)")),
    default: "",
  },
  region: {
    name: "region",
    group: CLUSTER,
    placeholder: "REGION",
    about: "Region of this cluster; none given means ClusterProperty region.topology.k8s.io",
    read: optional(text(isLabelValue, "expected a Kubernetes label value")),
    default: "",
  },
  clusterSetCidrs: {
    name: "clusterset-cidr",
    group: NETWORK,
    placeholder: "CIDR[,CIDR]",
    about: "Range that ClusterSetIPs come from, one per IP family; the agents' must be the same",
    read: vipRanges,
    // The agent's default, for the agent's reasons.
    default: "241.0.0.0/8",
  },
  podCidrs: {
    name: "pod-cidrs",
    group: NETWORK,
    placeholder: "CIDR,…",
    about:
      "Pod ranges of this cluster, beside those that its Nodes name; no VIP is taken from them",
    read: cidrs,
    default: "",
  },
  serviceCidrs: {
    name: "service-cidrs",
    group: NETWORK,
    placeholder: "CIDR,…",
    about: "Service ranges of this cluster, beside those that it names; no VIP is taken from them",
    read: cidrs,
    default: "",
  },
  leaderElectionId: {
    name: "leader-election-id",
    group: REPLICAS,
    placeholder: "NAME",
    about: "Lease in --namespace that replicas elect their leader by",
    read: text(isSubdomainName, "expected a name of a Lease (lower-case DNS subdomain)"),
    default: "clusterset-controller",
  },
  leaseSeconds: {
    name: "lease-duration",
    group: REPLICAS,
    placeholder: "SECONDS",
    about: "Silence after which the other clusters take this one's endpoints for a last resort",
    read: seconds(LEASE_CHOICE.least, LEASE_CHOICE.most),
    default: `${LEASE_SECONDS}s`,
  },
  http: {
    name: "http-address",
    group: SHOWN,
    placeholder: "IP:PORT",
    about: "Where /livez, /readyz, /metrics and /debug are served; off for nowhere",
    read: listenAddress,
    // Loopback, because /debug tells what each cluster exports; next to the agent's port.
    default: "127.0.0.1:10270",
  },
  ...LOG_FLAGS,
} as const satisfies FlagTable;

/** What the flags say, by key. */
export type FlagValues = ValuesOf<typeof FLAGS>;

function isEmpty({ first, last }: Span): boolean {
  return last < first;
}
