import {
  CLI_NAME,
  CONTROLLER_NAME,
  FAILOVER_MANAGER,
  LABEL_ADDRESS_MANAGED_BY,
  LABEL_MANAGED_BY,
  PROPERTY_CLUSTER_ID,
  PROPERTY_CLUSTER_SET,
  PROPERTY_REGION,
} from "../../api/keys.ts";
import { field, fieldAt, textField } from "../../api/parse/fields.ts";
import {
  CLUSTER_PROPERTIES,
  ENDPOINT_SLICES,
  IP_ADDRESSES,
  queryOf,
  SERVICE_ACCOUNTS,
  SERVICE_EXPORTS,
} from "../../common/kubernetes/kinds.ts";
import {
  type ApiResource,
  apiVersionOf,
  type ResourceQuery,
} from "../../common/kubernetes/resource.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import type { Cluster } from "../clusters/cluster.ts";
import { type InstallObject, resourceOf } from "../install/change.ts";
import { CRDS } from "../install/manifests.ts";

/** End of the names of ClusterProperties that controllers write. */
const OWN_PROPERTY = /\.clusterset-proxy\.io$/;

/** The EndpointSlices that controllers write. Others with their labels are somebody's own. */
export const WRITTEN_SLICES = `${LABEL_MANAGED_BY} in (${CONTROLLER_NAME},${FAILOVER_MANAGER})`;

/** Objects that match a query, without their content; none if their kind is not served. Rejects with an ApiFault. */
export async function objectsOf(
  on: Cluster,
  resource: ApiResource,
  which: Partial<ResourceQuery> = {},
): Promise<InstallObject[]> {
  const found = await on.list(queryOf(resource, { ...which, optional: true }));
  return found.map((object) => {
    const metadata = field(object, "metadata");
    const namespace = textField(metadata, "namespace");
    const [version = ""] = resource.versions;
    return {
      apiVersion: apiVersionOf(resource, version),
      kind: resource.kind,
      metadata: {
        name: textField(metadata, "name") ?? "",
        ...(namespace !== undefined && { namespace }),
      },
    };
  });
}

/** The cluster's ServiceExports. */
export function exportsOf(on: Cluster): Promise<InstallObject[]> {
  return objectsOf(on, SERVICE_EXPORTS);
}

/** The service accounts by whose tokens others read the registry of `id`. Rejects with an ApiFault. */
export async function readersOf(on: Cluster, id: string): Promise<InstallObject[]> {
  const found = await objectsOf(on, SERVICE_ACCOUNTS, { namespace: registryNamespace(id) });
  // Kubernetes makes it again, and it has no rights.
  return found.filter(({ metadata }) => metadata.name !== "default");
}

/** What controllers wrote outside of their namespaces, which nobody deletes after them. Rejects with an ApiFault. */
export async function leftBehind(on: Cluster): Promise<InstallObject[]> {
  const properties = await objectsOf(on, CLUSTER_PROPERTIES);
  const identity = [PROPERTY_CLUSTER_ID, PROPERTY_CLUSTER_SET, PROPERTY_REGION];
  return [
    ...(await objectsOf(on, ENDPOINT_SLICES, { labelSelector: WRITTEN_SLICES })),
    ...(await objectsOf(on, IP_ADDRESSES, {
      labelSelector: `${LABEL_ADDRESS_MANAGED_BY}=${CONTROLLER_NAME}`,
    })),
    ...properties.filter(
      ({ metadata: { name } }) => identity.includes(name) || OWN_PROPERTY.test(name),
    ),
  ];
}

/** CRDs that join applied, and those that it found. Rejects with an ApiFault. */
export async function crdsOf(on: Cluster): Promise<{ own: InstallObject[]; others: string[] }> {
  const own: InstallObject[] = [];
  const others: string[] = [];
  for (const crd of CRDS) {
    const live = await on.objects.get(resourceOf(crd), crd.metadata);
    const managers = fieldAt(live?.object, "metadata", "managedFields");
    const isOurs =
      Array.isArray(managers) && managers.some((one) => field(one, "manager") === CLI_NAME);
    if (isOurs) own.push(crd);
    else if (live !== undefined) others.push(crd.metadata.name);
  }
  return { own, others };
}
