import {
  CLI_NAME,
  CONTROLLER_NAME,
  FAILOVER_MANAGER,
  LABEL_ADDRESS_MANAGED_BY,
  LABEL_MANAGED_BY,
  LABEL_SOURCE_CLUSTER,
  PROPERTY_CLUSTER_ID,
  PROPERTY_CLUSTER_SET,
  PROPERTY_REGION,
} from "../../api/keys.ts";
import { field, fieldAt, textField } from "../../api/parse/fields.ts";
import {
  CLUSTER_PROPERTIES,
  ENDPOINT_SLICES,
  IP_ADDRESSES,
  PODS,
  queryOf,
  SERVICE_ACCOUNTS,
  SERVICE_EXPORTS,
  SERVICE_IMPORTS,
} from "../../common/kubernetes/kinds.ts";
import type { ApiResource, ResourceQuery } from "../../common/kubernetes/resource.ts";
import { registryNamespace } from "../../controller/registry/names.ts";
import { type InstallObject, resourceOf } from "../install/install-object.ts";
import { CRDS, cleanup, type Images } from "../install/manifests.ts";
import { deleteObject, isThere, planObject } from "./apply-objects.ts";
import type { Cluster } from "./cluster.ts";
import { type ApplyOptions, applyInOrder } from "./join-plan.ts";
import { untilRolledOut } from "./rollout.ts";
import { until } from "./until.ts";

/** Milliseconds until deleted pods or a deleted namespace are gone. */
const GONE_MS = 180_000;
/** Where pods clean the nodes (deploy/cleanup). */
export const CLEANUP_NAMESPACE = "clusterset-cleanup";
/** End of the names of ClusterProperties that controllers write. */
const OWN_PROPERTY = /\.clusterset-proxy\.io$/;

/** Objects that match a query, for `deleteObject`; none if their kind is not served. Rejects with an ApiFault. */
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
      apiVersion: resource.group === "" ? version : `${resource.group}/${version}`,
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

/** Requests at the same time: there may be thousands of slices. */
const AT_ONCE = 16;

/** Those of some objects that exist. Rejects with an ApiFault. */
export async function existingObjects(
  on: Cluster,
  objects: readonly InstallObject[],
): Promise<InstallObject[]> {
  const there: InstallObject[] = [];
  for (let i = 0; i < objects.length; i += AT_ONCE) {
    const some = objects.slice(i, i + AT_ONCE);
    const exist = await Promise.all(some.map((object) => isThere(on, object)));
    there.push(...some.filter((_object, k) => exist[k]));
  }
  return there;
}

/** Waits until an importing cluster has no endpoints of `leaving` any more. Rejects with an ApiFault. */
export function untilUnused(
  importing: Cluster,
  leaving: string,
  within: number,
  signal: AbortSignal,
): Promise<void> {
  const labelSelector = `${LABEL_SOURCE_CLUSTER}=${leaving}`;
  return untilNone(within, signal, async () => ({
    left: await objectsOf(importing, ENDPOINT_SLICES, { labelSelector }),
    what: `${importing.context}: EndpointSlices of ${leaving}`,
  }));
}

/** Waits until the cluster's registry on a hub has no records any more. Rejects with an ApiFault. */
export function untilWithdrawn(
  hub: Cluster,
  leaving: string,
  within: number,
  signal: AbortSignal,
): Promise<void> {
  const namespace = registryNamespace(leaving);
  return untilNone(within, signal, async () => ({
    left: await objectsOf(hub, SERVICE_IMPORTS, { namespace }),
    what: `${hub.context}: exports of ${leaving}`,
  }));
}

function untilNone(
  within: number,
  signal: AbortSignal,
  read: () => Promise<{ readonly left: readonly unknown[]; readonly what: string }>,
): Promise<void> {
  return until(within, signal, async () => {
    const { left, what } = await read();
    return left.length === 0
      ? { found: undefined }
      : { missing: `${what}: ${left.length} are left, which its controller withdraws` };
  });
}

/** Deletes objects. Namespaces end later (`untilEnded`). Rejects with an ApiFault. */
export async function deleteAll(
  on: Cluster,
  objects: readonly InstallObject[],
  { done }: Pick<ApplyOptions, "done">,
): Promise<void> {
  for (const object of objects) {
    const { kind, metadata } = object;
    const title = metadata.namespace === undefined ? "" : `${metadata.namespace}/`;
    if (await deleteObject(on, object))
      done(on, `${title}${kind.toLowerCase()}/${metadata.name}`, "deleted");
  }
}

/**
 * Waits until deleted namespaces are gone. Kubernetes looks at a namespace 5 s after its deletion and, if it is not empty then, 5 to
 * 16 s later. So wait for several at once, and delete pods before their namespace. Rejects with an ApiFault.
 */
export async function untilEnded(
  on: Cluster,
  objects: readonly InstallObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const object of objects) {
    if (object.kind !== "Namespace") continue;
    const { metadata } = object;
    await until(GONE_MS, signal, async () => {
      const live = await on.objects.get(resourceOf(object), metadata);
      if (live === undefined) return { found: undefined };
      return {
        missing: `${on.context}: namespace ${metadata.name} does not end: a node may be down`,
      };
    });
  }
}

/** Waits until the pods of deleted workloads have ended. Rejects with an ApiFault. */
export async function untilStopped(
  on: Cluster,
  workloads: readonly InstallObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const { metadata, spec } of workloads) {
    const { namespace = "", name } = metadata;
    const labels = Object.entries(fieldAt(spec, "selector", "matchLabels") ?? {});
    const labelSelector = labels.map(([key, value]) => `${key}=${value}`).join();
    await until(GONE_MS, signal, async () => {
      const left = await objectsOf(on, PODS, { namespace, labelSelector });
      if (left.length === 0) return { found: undefined };
      const pods = `${on.context}: pods of ${namespace}/${name}`;
      return { missing: `${pods}: ${left.length} do not end: a node may be down` };
    });
  }
}

/** What controllers wrote outside of their namespaces, which nobody deletes after them. Rejects with an ApiFault. */
export async function leftBehind(on: Cluster): Promise<InstallObject[]> {
  const properties = await objectsOf(on, CLUSTER_PROPERTIES);
  const identity = [PROPERTY_CLUSTER_ID, PROPERTY_CLUSTER_SET, PROPERTY_REGION];
  return [
    ...(await objectsOf(on, ENDPOINT_SLICES, {
      labelSelector: `${LABEL_MANAGED_BY} in (${CONTROLLER_NAME},${FAILOVER_MANAGER})`,
    })),
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

/** Removes the agents' rules from all nodes, as deploy/cleanup. Its namespace ends later (`untilEnded`). Rejects with an ApiFault. */
export async function cleanNodes(
  on: Cluster,
  { images, components }: { readonly images: Images; readonly components: readonly string[] },
  within: number,
  options: ApplyOptions,
): Promise<InstallObject[]> {
  const objects = cleanup(images, components);
  const { signal } = options;
  const plan = { force: options.force, validate: false };
  for (const object of objects)
    await applyInOrder(on, [await planObject(on, object, plan)], options);
  const workload = { namespace: CLEANUP_NAMESPACE, name: "clusterset-cleanup" };
  await untilRolledOut(on, { kind: "DaemonSet", ...workload }, within, signal);
  // Its pods end before Kubernetes looks at their namespace.
  await deleteAll(on, objects.toReversed(), options);
  return objects;
}
