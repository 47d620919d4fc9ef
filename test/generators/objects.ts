import type { ObjectKey } from "../../api/names.ts";

/** The API version of each kind that tests write. */
const VERSIONS = {
  ClusterProperty: "about.k8s.io/v1beta1",
  ConfigMap: "v1",
  CustomResourceDefinition: "apiextensions.k8s.io/v1",
  DaemonSet: "apps/v1",
  Deployment: "apps/v1",
  EndpointSlice: "discovery.k8s.io/v1",
  Event: "v1",
  IPAddress: "networking.k8s.io/v1",
  Lease: "coordination.k8s.io/v1",
  Namespace: "v1",
  Node: "v1",
  Pod: "v1",
  Secret: "v1",
  Service: "v1",
  ServiceAccount: "v1",
  ServiceExport: "multicluster.x-k8s.io/v1beta1",
  ServiceImport: "multicluster.x-k8s.io/v1beta1",
} as const;

/** The head of an object, which is also a reference to it. `key`: its name, or `namespace/name`. */
export function manifest(kind: keyof typeof VERSIONS, key: string) {
  const [first = "", ...rest] = key.split("/");
  const metadata = rest.length === 0 ? { name: first } : { namespace: first, name: rest.join("/") };
  return { apiVersion: VERSIONS[kind], kind, metadata };
}

/** A ServiceImport as a person would write it. */
export function importObject(
  key: ObjectKey,
  ips: readonly string[],
  ports: readonly object[],
  spec: object = {},
): object {
  const [namespace, name] = key.split("/");
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace, name },
    spec: { type: "ClusterSetIP", ips, ports, ...spec },
  };
}

/** A slice of `cluster` in `region`, of the import `key`; endpoints are ready unless they say otherwise. */
export function sliceObject(
  name: string,
  key: ObjectKey,
  origin: { readonly cluster?: string; readonly region?: string },
  ports: readonly object[],
  endpoints: readonly (string | object)[],
): object {
  const [namespace, service] = key.split("/");
  const objects = endpoints.map((e) => (typeof e === "string" ? { addresses: [e] } : e));
  const first = objects[0] as { addresses?: readonly string[] } | undefined;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name,
      labels: {
        "multicluster.kubernetes.io/service-name": service,
        ...(origin.cluster && { "multicluster.kubernetes.io/source-cluster": origin.cluster }),
        ...(origin.region && { "topology.kubernetes.io/region": origin.region }),
      },
    },
    addressType: first?.addresses?.[0]?.includes(":") ? "IPv6" : "IPv4",
    ports,
    endpoints: objects,
  };
}

/** The IPAddress of a VIP of an import. */
export function ipAddress(address: string, key: string): Readonly<Record<string, unknown>> {
  const [namespace, name] = key.split("/");
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "IPAddress",
    metadata: {
      name: address,
      labels: { "ipaddress.kubernetes.io/managed-by": "clusterset-controller" },
    },
    spec: {
      parentRef: {
        group: "multicluster.x-k8s.io",
        resource: "serviceimports",
        ...{ namespace, name },
      },
    },
  };
}
