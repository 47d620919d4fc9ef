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
/** Name of the ClusterProperty that holds the id of the clusterset that the cluster is a member of. */
export const PROPERTY_CLUSTER_SET = "clusterset.k8s.io";

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
/** How connections to a ServiceImport are spread, for backends that have the choice: one of `SCHEDULERS`. */
export const ANNOTATION_SCHEDULER = "clusterset-proxy.io/ipvs-scheduler";

/** Who the controller is: what it manages says so, and server-side apply knows its fields by it. */
export const CONTROLLER_NAME = "clusterset-controller";
/** On a slice: whose it is (discovery.k8s.io/v1). */
export const LABEL_MANAGED_BY = "endpointslice.kubernetes.io/managed-by";
/** On a slice: kube-proxy leaves those alone that carry it, whatever its value. */
export const LABEL_PROXY_NAME = "service.kubernetes.io/service-proxy-name";
/** Value of `LABEL_PROXY_NAME` on slices of ours. */
export const PROXY_NAME = "clusterset-proxy";
/** On a ServiceImport: how the controller came by it, `created` or `adopted`. Without it, it is somebody's own. */
export const ANNOTATION_IMPORT = "clusterset-proxy.io/import";
/** On a ServiceImport that was adopted: its `spec` as its author wrote it, in JSON, for when it is released. */
export const ANNOTATION_AUTHORED = "clusterset-proxy.io/authored-spec";

/** Group and version of Lease. */
export const COORDINATION_V1 = "coordination.k8s.io/v1";
/** On a slice of a Service: the Service, in the slice's namespace. */
export const LABEL_SERVICE_SLICE = "kubernetes.io/service-name";
/** On a namespace: it is the registry of the cluster of this id. */
export const LABEL_REGISTRY = "clusterset-proxy.io/registry";
/** In a registry, on a record and on its slices: the record's name, shortened with a hash if it is too long. */
export const LABEL_RECORD = "clusterset-proxy.io/record";
/** In a registry, on the cluster's Lease: the clusterset that it is a member of. */
export const LABEL_CLUSTER_SET = "clusterset-proxy.io/clusterset";
/** On a record: when the ServiceExport was created. */
export const ANNOTATION_EXPORTED_AT = "clusterset-proxy.io/exported-at";
/** On a record: `spec.exportedLabels` of the ServiceExport, a JSON object. */
export const ANNOTATION_EXPORTED_LABELS = "clusterset-proxy.io/exported-labels";
/** On a record: `spec.exportedAnnotations` of the ServiceExport, a JSON object. */
export const ANNOTATION_EXPORTED_ANNOTATIONS = "clusterset-proxy.io/exported-annotations";
/** In a registry, on the cluster's Lease: uid of another cluster that would publish under the same id. */
export const ANNOTATION_CONTESTED_BY = "clusterset-proxy.io/contested-by";
/** In a registry, on the cluster's Lease: `true` if all that the cluster exports lies there. */
export const ANNOTATION_COMPLETE = "clusterset-proxy.io/complete";
/** On a Secret: it is how to reach the cluster of this id. */
export const LABEL_PEER = "clusterset-proxy.io/peer";
/** On such a Secret, or on a registry's namespace on a hub: ranges that the cluster's endpoints lie in, with commas between. */
export const ANNOTATION_ENDPOINT_CIDRS = "clusterset-proxy.io/endpoint-cidrs";
