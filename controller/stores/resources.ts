import { LABEL_PEER, LABEL_RECORD, LABEL_REGISTRY } from "../../api/keys.ts";
import { namesOf, type ObjectKey } from "../../api/names.ts";
import {
  CLUSTER_PROPERTIES,
  ENDPOINT_SLICES,
  IP_ADDRESSES,
  NAMESPACES,
  NODES,
  PODS,
  queryOf,
  SERVICE_EXPORTS,
  SERVICE_IMPORTS,
  SERVICES,
} from "../../common/kubernetes/kinds.ts";
import type { ResourceQuery } from "../../common/kubernetes/resource.ts";
import { LEASES } from "../../common/lease/lease.ts";
import { CONTROLLERS_LEASE } from "../liveness/control-plane-contact.ts";
import { MOST_REGISTRY_OBJECTS } from "../model/limits.ts";
import {
  LEASE_NAME,
  namespaceOfService,
  serviceOfRecord,
  serviceOfSlice,
} from "../registry/names.ts";

const NO_RECORD = `!${LABEL_RECORD}`;
const isRare = true;

/** Queries of the local cluster. */
export const LOCAL_QUERIES = {
  namespaces: queryOf(NAMESPACES, { isRare }),
  services: queryOf(SERVICES, { isRare }),
  // Slices of Services, and imported ones; records have queries of their own.
  endpointslices: queryOf(ENDPOINT_SLICES, { isRare, labelSelector: NO_RECORD }),
  serviceexports: queryOf(SERVICE_EXPORTS, { isRare }),
  serviceimports: queryOf(SERVICE_IMPORTS, { isRare, labelSelector: NO_RECORD }),
  clusterproperties: queryOf(CLUSTER_PROPERTIES, { isRare, optional: true }),
  // Also those of other programs, which may have a VIP. Of Services' ones, of which there may be thousands, none is stored.
  ipaddresses: queryOf(IP_ADDRESSES, { isRare, optional: true }),
} as const satisfies Readonly<Record<string, ResourceQuery>>;

/** kube-controller-manager's Lease; optional. */
export const CONTROLLERS_QUERY: ResourceQuery = queryOf(LEASES, {
  namespace: CONTROLLERS_LEASE.namespace,
  fieldSelector: `metadata.name=${CONTROLLERS_LEASE.name}`,
  optional: true,
});

/** Nodes: their pod ranges, and startup taints. */
export const NODES_QUERY: ResourceQuery = queryOf(NODES);

/** Service ranges. */
export const SERVICE_CIDRS_QUERY: ResourceQuery = {
  group: "networking.k8s.io",
  versions: ["v1", "v1beta1"],
  resource: "servicecidrs",
  optional: true,
};

/** The agents' pods, for startup taints. */
export function agentPodsQuery(namespace: string): ResourceQuery {
  return queryOf(PODS, { namespace, labelSelector: "app.kubernetes.io/name=clusterset-agent" });
}

/** Secrets of peers. */
export function peersQuery(namespace: string): ResourceQuery {
  const peers = { namespace, labelSelector: LABEL_PEER, isRare };
  return { group: "", versions: ["v1"], resource: "secrets", ...peers };
}

/** Registry namespaces of a hub. */
export const HUB_QUERY: ResourceQuery = queryOf(NAMESPACES, {
  isRare,
  labelSelector: LABEL_REGISTRY,
});

/** Queries of a registry. */
export function registryQueries(namespace: string) {
  // Lost records would otherwise be noticed only at the next publication.
  const which = { namespace, listsAfterLoss: true, isRare };
  const records = { ...which, labelSelector: LABEL_RECORD };
  const most = MOST_REGISTRY_OBJECTS;
  const owner = (of: (name: string) => ObjectKey | undefined) => (key: string) =>
    namespaceOfService(of(namesOf(key).name));
  return {
    serviceimports: queryOf(SERVICE_IMPORTS, {
      ...{ ...records, most: most.serviceimports, mostOfOwner: most.serviceimports },
      ownerOf: owner(serviceOfRecord),
    }),
    endpointslices: queryOf(ENDPOINT_SLICES, {
      ...{ ...records, most: most.endpointslices, mostOfOwner: most.endpointslices },
      ownerOf: owner(serviceOfSlice),
    }),
    leases: queryOf(LEASES, {
      ...{ ...which, most: most.leases },
      // The registry's Lease has a place, whatever others write there.
      ownerOf: (key) => (namesOf(key).name === LEASE_NAME ? LEASE_NAME : ""),
    }),
  } as const satisfies Readonly<Record<string, ResourceQuery>>;
}
