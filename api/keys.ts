import { clusterOfProperty } from "./endpoint-ranges.ts";
import { isClusterId } from "./names.ts";

/** API group of ServiceExport and ServiceImport. */
export const MCS_GROUP = "multicluster.x-k8s.io";
/** Its versions, which have the same schema, newest first. */
export const MCS_VERSIONS = ["v1beta1", "v1alpha1"] as const;
/** Group and version of EndpointSlice. */
export const DISCOVERY_V1 = "discovery.k8s.io/v1";

/** API group of ClusterProperty (KEP-2149). */
export const ABOUT_GROUP = "about.k8s.io";
/** Its versions, which have the same schema, newest first. */
export const ABOUT_VERSIONS = ["v1beta1", "v1alpha1"] as const;
/** ClusterProperty with the ID of the cluster. */
export const PROPERTY_CLUSTER_ID = "cluster.clusterset.k8s.io";
/** ClusterProperty with the ID of the clusterset. */
export const PROPERTY_CLUSTER_SET = "clusterset.k8s.io";

/** Region of a cluster in cluster selectors, like `LABEL_REGION` (examples of KEP-5939). */
export const PROPERTY_REGION = "region.topology.k8s.io";

/** On a slice: its ServiceImport, in the same namespace (KEP-1645). */
export const LABEL_SERVICE_NAME = "multicluster.kubernetes.io/service-name";
/** On a slice: ID of the source cluster (KEP-1645). */
export const LABEL_SOURCE_CLUSTER = "multicluster.kubernetes.io/source-cluster";
/** On a slice: `"false"` disables it. */
export const LABEL_ACTIVE = "multicluster.kubernetes.io/active";
/** On a slice: region of the source cluster. On a Node: its region. */
export const LABEL_REGION = "topology.kubernetes.io/region";
/** On a ServiceImport: cluster selectors, as JSON of KEP-5939's `clusterSelectors`. */
export const ANNOTATION_CLUSTER_SELECTORS = "clusterset-proxy.io/cluster-selectors";
/** On a slice: properties of the source cluster, as a JSON object (KEP-2149). */
export const ANNOTATION_CLUSTER_PROPERTIES = "clusterset-proxy.io/cluster-properties";
/** On a Node: its zone. */
export const LABEL_ZONE = "topology.kubernetes.io/zone";
/** On an import: `reset` or `keep` (default) TCP connections to a deleted endpoint. */
export const ANNOTATION_ON_ENDPOINT_DEATH = "clusterset-proxy.io/on-endpoint-death";
/** On an import: `follow` deletes UDP conntrack entries of ready endpoints that get no new clients; `keep` (default) does not. */
export const ANNOTATION_UDP = "clusterset-proxy.io/udp";
/** On an import: whose endpoints are used last while they do not answer, one of `HEALTH_SCOPES`. */
export const ANNOTATION_HEALTH = "clusterset-proxy.io/health";
/** On an import: `never` gives clusters that no selector matches no traffic; `last` (default) makes them the last tier. */
export const ANNOTATION_UNSELECTED_CLUSTERS = "clusterset-proxy.io/unselected-clusters";
/** On an import: shares of the clusters of a tier, such as `old=90,new=10`. */
export const ANNOTATION_CLUSTER_WEIGHTS = "clusterset-proxy.io/cluster-weights";
/** On an import: ready endpoints without which a tier does not count, such as `3` or `30%`. */
export const ANNOTATION_MIN_READY = "clusterset-proxy.io/min-ready";
/** On an import: IPVS scheduler, one of `SCHEDULERS`. */
export const ANNOTATION_SCHEDULER = "clusterset-proxy.io/ipvs-scheduler";

/** On a Service, or on its Namespace for all its Services: `"true"` lists endpoints of other clusters for the ClusterIP, as a fallback. */
export const ANNOTATION_CLUSTER_IP_FAILOVER = "clusterset-proxy.io/cluster-ip-failover";
/** Value of `LABEL_MANAGED_BY` on failover slices. */
export const FAILOVER_MANAGER = "cluster-ip-failover.clusterset-proxy.io";

/** The controller, as a value of `LABEL_MANAGED_BY` and as a field manager. */
export const CONTROLLER_NAME = "clusterset-controller";
/** On a slice: the component that manages it (discovery.k8s.io/v1). */
export const LABEL_MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
/** On an IPAddress: the program that allocated it (networking.k8s.io/v1). */
export const LABEL_ADDRESS_MANAGED_BY = "ipaddress.kubernetes.io/managed-by";
/** On a slice: kube-proxy ignores slices with this label, whatever its value. */
export const LABEL_PROXY_NAME = "service.kubernetes.io/service-proxy-name";
/** Value of `LABEL_PROXY_NAME` on managed slices. */
export const PROXY_NAME = "clusterset-proxy";
/** On a ServiceImport: `created` or `adopted` by the controller; absent on a user-managed one. */
export const ANNOTATION_IMPORT = "clusterset-proxy.io/import";
/** On a ServiceImport whose ClusterSet CIDR changes: its earlier VIPs, separated by commas. Agents serve them as those of `spec.ips`. */
export const ANNOTATION_PREVIOUS_IPS = "clusterset-proxy.io/previous-ips";
/** On an adopted ServiceImport: its original `spec` as JSON, restored on release. */
export const ANNOTATION_AUTHORED = "clusterset-proxy.io/authored-spec";
/** On a managed ServiceImport: what other clusters last exported, as JSON, for a controller that starts while it cannot reach them. */
export const ANNOTATION_EXPORTS = "clusterset-proxy.io/exports";

/** Group and version of Lease. */
export const COORDINATION_V1 = "coordination.k8s.io/v1";
/** On a slice of a Service: the Service, in the same namespace. */
export const LABEL_SERVICE_SLICE = "kubernetes.io/service-name";
/** On a namespace: ID of the cluster whose registry it is. */
export const LABEL_REGISTRY = "clusterset-proxy.io/registry";
/** On a record and its slices: the record's name, shortened with a hash if it is too long. */
export const LABEL_RECORD = "clusterset-proxy.io/record";
/** On the Lease in a registry: ID of the clusterset. */
export const LABEL_CLUSTER_SET = "clusterset-proxy.io/clusterset";
/** On a record: creation time of the ServiceExport. */
export const ANNOTATION_EXPORTED_AT = "clusterset-proxy.io/exported-at";
/** On a record: `spec.exportedLabels` of the ServiceExport, as JSON. */
export const ANNOTATION_EXPORTED_LABELS = "clusterset-proxy.io/exported-labels";
/** On a record: `spec.exportedAnnotations` of the ServiceExport, as JSON. */
export const ANNOTATION_EXPORTED_ANNOTATIONS = "clusterset-proxy.io/exported-annotations";
/** On the Lease in a registry: uid of another cluster that tries to publish under the same ID. */
export const ANNOTATION_CONTESTED_BY = "clusterset-proxy.io/contested-by";
/** On the Lease in a registry: `true` once all exports of the cluster are published. */
export const ANNOTATION_COMPLETE = "clusterset-proxy.io/complete";
/** Instead of it, if the registry lacks exports that it rejects: their names, or their namespaces, separated by commas. */
export const ANNOTATION_COMPLETE_EXCEPT = "clusterset-proxy.io/complete-except";
/** On the Lease in a registry: release of the controller that writes the registry. */
export const ANNOTATION_VERSION = "clusterset-proxy.io/version";
/** On a record: version of its format, `RECORD_FORMAT`. */
export const ANNOTATION_FORMAT = "clusterset-proxy.io/format";
/** On a record: why some of its slices are not published, as reasons. */
export const ANNOTATION_LEFT_OUT = "clusterset-proxy.io/left-out";
/** On a record of a Service that is not of IPv4 only: its IP families, such as `IPv6,IPv4`. CRDs of mcs-api v0.3 have no field for them. */
export const ANNOTATION_IP_FAMILIES = "clusterset-proxy.io/ip-families";
/** On a Secret: ID of the peer whose kubeconfig it holds. */
export const LABEL_PEER = "clusterset-proxy.io/peer";
/**
 * On ClusterProperty `PROPERTY_CLUSTER_ID`, the Secret of a peer, a registry's namespace on a hub, or the Lease in a registry: takes the
 * cluster out of rotation for a time, as `from=2026-11-24T04:00:00Z; for=2h; by=ann; reason=kernel upgrade`.
 */
export const ANNOTATION_DRAIN = "clusterset-proxy.io/drain";
/** On the agent's DaemonSet: comma-separated components of deploy/components that `kubectl clusterset join` has added. */
export const ANNOTATION_COMPONENTS = "clusterset-proxy.io/components";
/** Key of the taint of a node whose agent has not been ready yet; set by those who create nodes, and by the controller when a node restarts. */
export const TAINT_AGENT_NOT_READY = "clusterset-proxy.io/agent-not-ready";
/** On an imported slice: the window in which nodes adopt its conditions one by one (`api/shift.ts`). */
export const ANNOTATION_SHIFT = "clusterset-proxy.io/shift";
/** On a registry's namespace in a mesh: URL of the cluster's API server for the other clusters. */
export const ANNOTATION_API_SERVER = "clusterset-proxy.io/api-server";
/** On the Secret of a peer, or a registry's namespace: comma-separated ranges of the cluster's endpoints. */
export const ANNOTATION_ENDPOINT_CIDRS = "clusterset-proxy.io/endpoint-cidrs";
/** On the Lease in a registry of a mesh: the ranges that its cluster declares for each peer, as JSON by cluster. */
export const ANNOTATION_ACCEPTED_CIDRS = "clusterset-proxy.io/accepted-endpoint-cidrs";
/** On the Secret of a peer, or a registry's namespace on a hub: comma-separated namespaces to which the cluster may export; `team-*` is any that begins so. Absent: all. */
export const ANNOTATION_ALLOWED_NAMESPACES = "clusterset-proxy.io/allowed-namespaces";
/** In the same place: namespaces to which it may not export, even if they are allowed. */
export const ANNOTATION_DENIED_NAMESPACES = "clusterset-proxy.io/denied-namespaces";
/** The command line, as a field manager. */
export const CLI_NAME = "kubectl-clusterset";

/** What the names of these ClusterProperties end with. */
const ROTATION = ".rotation.clusterset-proxy.io";

/**
 * The ClusterProperty in which the controller records how it uses a cluster, for its next start and its other replicas. It is
 * cluster-scoped, so a user who may write slices in a namespace cannot change it.
 */
export function rotationProperty(cluster: string): string {
  return `${cluster}${ROTATION}`;
}

/** The cluster of such a property; undefined for other properties. */
export function clusterOfRotation(name: string): string | undefined {
  const cluster = name.endsWith(ROTATION) ? name.slice(0, -ROTATION.length) : "";
  return isClusterId(cluster) ? cluster : undefined;
}

/** False for what the controller writes about clusters: it does not describe the local one. */
export function isOwnProperty(name: string): boolean {
  return clusterOfProperty(name) === undefined && clusterOfRotation(name) === undefined;
}

/** IPVS schedulers, by the kernel's names (net/netfilter/ipvs); all destinations have equal weights. */
export const SCHEDULERS = ["rr", "lc", "sh", "mh", "wrr"] as const;
/** One of `SCHEDULERS`. */
export type Scheduler = (typeof SCHEDULERS)[number];
