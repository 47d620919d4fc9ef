/** Every label, annotation and API group that clusterset-proxy reads or writes, once. */

/** API group of ServiceExport and ServiceImport. */
export const MCS_GROUP = "multicluster.x-k8s.io";
/** Versions of that group that are served with the same schema, newest first. */
export const MCS_VERSIONS = ["v1beta1", "v1alpha1"] as const;
/** Group and version of EndpointSlice. */
export const DISCOVERY_V1 = "discovery.k8s.io/v1";

/** API group of ClusterProperty (KEP-2149). */
export const ABOUT_GROUP = "about.k8s.io";
/** Versions of that group that are served with the same schema, newest first. */
export const ABOUT_VERSIONS = ["v1beta1", "v1alpha1"] as const;
/** Name of the ClusterProperty that holds the cluster's own id. */
export const PROPERTY_CLUSTER_ID = "cluster.clusterset.k8s.io";

/** Name by which cluster selectors know a cluster's region, beside `LABEL_REGION` (examples of KEP-5939). */
export const PROPERTY_REGION = "region.topology.k8s.io";

/** On a slice: the ServiceImport, in the slice's namespace, that it belongs to (KEP-1645). */
export const LABEL_SERVICE_NAME = "multicluster.kubernetes.io/service-name";
/** On a slice: id of the cluster whose endpoints it holds (KEP-1645). */
export const LABEL_SOURCE_CLUSTER = "multicluster.kubernetes.io/source-cluster";
/** On a slice: `"false"` takes it out of use without deleting it. */
export const LABEL_ACTIVE = "multicluster.kubernetes.io/active";
/** On a slice: region of the source cluster. On a Node: its own. */
export const LABEL_REGION = "topology.kubernetes.io/region";
/** On a ServiceImport: its cluster selectors, a JSON list in the shape of KEP-5939's `clusterSelectors`. */
export const ANNOTATION_CLUSTER_SELECTORS = "clusterset-proxy.io/cluster-selectors";
/** On a slice: the source cluster's properties, a JSON object of name and value (KEP-2149). */
export const ANNOTATION_CLUSTER_PROPERTIES = "clusterset-proxy.io/cluster-properties";
/** On a Node: its zone. */
export const LABEL_ZONE = "topology.kubernetes.io/zone";
/** On an import: what becomes of TCP connections to an endpoint that is gone: `reset`, or `keep`, the default. */
export const ANNOTATION_ON_ENDPOINT_DEATH = "clusterset-proxy.io/on-endpoint-death";
