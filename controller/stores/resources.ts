import {
  ABOUT_GROUP,
  ABOUT_VERSIONS,
  LABEL_PEER,
  LABEL_RECORD,
  LABEL_REGISTRY,
  MCS_GROUP,
  MCS_VERSIONS,
} from "../../api/keys.ts";
import type { ApiResource } from "../../common/kubernetes/api-resource.ts";
import type { ResourceQuery } from "../../common/kubernetes/resource-query.ts";
import { CONTROLLERS_LEASE } from "../liveness/contact.ts";

/** Kinds that the controller writes. */
export const SERVICE_IMPORTS: ApiResource = {
  group: MCS_GROUP,
  versions: MCS_VERSIONS,
  resource: "serviceimports",
  kind: "ServiceImport",
};
export const SERVICE_EXPORTS: ApiResource = {
  group: MCS_GROUP,
  versions: MCS_VERSIONS,
  resource: "serviceexports",
  kind: "ServiceExport",
};
export const ENDPOINT_SLICES: ApiResource = {
  group: "discovery.k8s.io",
  versions: ["v1"],
  resource: "endpointslices",
  kind: "EndpointSlice",
};
export const CLUSTER_PROPERTIES: ApiResource = {
  group: ABOUT_GROUP,
  versions: ABOUT_VERSIONS,
  resource: "clusterproperties",
  kind: "ClusterProperty",
};
export const NAMESPACES: ApiResource = {
  group: "",
  versions: ["v1"],
  resource: "namespaces",
  kind: "Namespace",
};

const NO_RECORD = `!${LABEL_RECORD}`;

/** What is read of our own cluster. */
export const OWN_QUERIES = {
  namespaces: { group: "", versions: ["v1"], resource: "namespaces" },
  services: { group: "", versions: ["v1"], resource: "services" },
  // A Service's, and imported ones. What lies in a registry is asked for by itself, and is far away in a hub.
  endpointslices: queryOf(ENDPOINT_SLICES, { labelSelector: NO_RECORD }),
  serviceexports: queryOf(SERVICE_EXPORTS),
  serviceimports: queryOf(SERVICE_IMPORTS, { labelSelector: NO_RECORD }),
  clusterproperties: queryOf(CLUSTER_PROPERTIES, { optional: true }),
} as const satisfies Readonly<Record<string, ResourceQuery>>;

/** kube-controller-manager's Lease: who may not read it goes without. */
export const CONTROLLERS_QUERY: ResourceQuery = {
  group: "coordination.k8s.io",
  versions: ["v1"],
  resource: "leases",
  namespace: CONTROLLERS_LEASE.namespace,
  fieldSelector: `metadata.name=${CONTROLLERS_LEASE.name}`,
  optional: true,
};

/** Who says which addresses are others'. */
export const RANGE_QUERIES = {
  nodes: { group: "", versions: ["v1"], resource: "nodes" },
  servicecidrs: {
    group: "networking.k8s.io",
    versions: ["v1", "v1beta1"],
    resource: "servicecidrs",
    optional: true,
  },
} as const satisfies Readonly<Record<string, ResourceQuery>>;

/** Secrets of peers in our own namespace. */
export function peersQuery(namespace: string): ResourceQuery {
  return { group: "", versions: ["v1"], resource: "secrets", namespace, labelSelector: LABEL_PEER };
}

/** Namespaces of a hub that are registries. */
export const HUB_QUERY: ResourceQuery = {
  group: "",
  versions: ["v1"],
  resource: "namespaces",
  labelSelector: LABEL_REGISTRY,
};

/** What is read of a registry. */
export function registryQueries(namespace: string) {
  // A registry that misses what was published would do so for as long as nothing is published again.
  const which = { namespace, listsAfterLoss: true };
  const records = { ...which, labelSelector: LABEL_RECORD };
  return {
    serviceimports: queryOf(SERVICE_IMPORTS, records),
    endpointslices: queryOf(ENDPOINT_SLICES, records),
    leases: { group: "coordination.k8s.io", versions: ["v1"], resource: "leases", ...which },
  } as const satisfies Readonly<Record<string, ResourceQuery>>;
}

function queryOf(
  { group, versions, resource }: ApiResource,
  which: Partial<ResourceQuery> = {},
): ResourceQuery {
  return { group, versions, resource, ...which };
}
